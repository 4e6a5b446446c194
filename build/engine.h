/* What differs from engine to engine, and what Rust cannot call. */

/* The name of the Host header, in the engine's form. */
hdr_t dynamic_host_header(void);

/* As VRT_VSC_Alloc() of Varnish 8 and later, which takes arguments as printf() does. */
void *dynamic_vsc_alloc(struct vsmw_cluster *, struct vsc_seg **, const char *name, size_t size,
    const unsigned char *json, size_t json_length, const char *format, ...);
