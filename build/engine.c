#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include <pthread.h>
#include <sys/types.h>
#include <sys/socket.h>
#include "cache/cache.h"
#include "engine.h"

/* Varnish 7.7 has VRT 21, where VRT_VSC_Alloc() takes a va_list and headers' names are arrays. */
#if VRT_MAJOR_VERSION < 22
#define VRT_VSC_Allocv VRT_VSC_Alloc
#endif

hdr_t
dynamic_host_header(void)
{
	return (H_Host);
}

void *
dynamic_vsc_alloc(struct vsmw_cluster *cluster, struct vsc_seg **segment, const char *name, size_t size,
    const unsigned char *json, size_t json_length, const char *format, ...)
{
	va_list arguments;
	void *memory;

	va_start(arguments, format);
	memory = VRT_VSC_Allocv(cluster, segment, name, size, json, json_length, format, arguments);
	va_end(arguments);
	return (memory);
}
