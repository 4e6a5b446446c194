//! Directors of ours in the engine: names and services.

use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::backend::Leaf;
use super::boundary::catch_panic;
use super::ctx::Ctx;
use super::sys;
use super::vsb::Vsb;

/// The one flavour that `backend.list` calls "dynamic".
const NAME_TYPE: &CStr = c"dynamic";
/// The flavour for services.
const SERVICE_TYPE: &CStr = c"dynamic-service";

/// A choice that stays valid for the rest of the task in which it was made:
/// the leaf is pinned in the task, or the choice fell outside any task.
pub(crate) struct BackendRef(sys::VCL_BACKEND);

impl BackendRef {
    /// A leaf of a snapshot that the task keeps.
    pub(crate) fn kept(leaf: &Leaf) -> Self {
        BackendRef(leaf.as_ptr())
    }

    /// A leaf for a call that belongs to no task: the VCL's events and the
    /// resolver thread, which nothing runs beside.
    pub(crate) fn outside_task(leaf: &Leaf) -> Self {
        BackendRef(leaf.as_ptr())
    }

    /// A name, to be resolved later. The task holds it, or the VCL is not
    /// warm and no name goes away.
    pub(crate) fn director(handle: &DirectorHandle) -> Self {
        BackendRef(handle.as_ptr())
    }

    /// What VCL or the engine gets.
    pub(crate) fn into_ptr(self) -> sys::VCL_BACKEND {
        self.0
    }
}

/// What the engine asks of a director of ours. Callbacks come on any thread,
/// with the CLI's context too.
pub(crate) trait Director: Send + Sync + 'static {
    /// The leaf for this request.
    fn resolve(&self, ctx: Ctx<'_>) -> Option<BackendRef>;
    /// Whether any leaf is healthy, and when that last changed.
    fn healthy(&self, ctx: Ctx<'_>) -> (bool, f64);
    /// One of `backend.list`'s four forms.
    fn list(&self, ctx: Ctx<'_>, out: &mut Vsb<'_>, detail: bool, json: bool);
    /// The VCL became warm, or cold. The engine may hold its VCL lock.
    fn temperature(&self, warm: bool);
    /// The VCL is discarded: gives the handle back, if nobody has yet.
    /// Without locks, on the CLI thread.
    fn discard(&self);
}

/// The engine's director, by its own pointer; the module's reference to it.
#[derive(Debug, Default)]
pub(crate) struct DirectorHandle(AtomicPtr<sys::director>);

/// The concrete type behind the engine's `priv` pointer.
type Private<D> = Arc<D>;

/// The callbacks for one type of director.
struct Methods<D>(std::marker::PhantomData<D>);

impl<D: Director> Methods<D> {
    const NAME: sys::vdi_methods = Self::table(NAME_TYPE);
    const SERVICE: sys::vdi_methods = Self::table(SERVICE_TYPE);

    const fn table(kind: &'static CStr) -> sys::vdi_methods {
        sys::vdi_methods {
            magic: sys::VDI_METHODS_MAGIC,
            type_: kind.as_ptr(),
            http1pipe: None,
            healthy: Some(healthy::<D>),
            resolve: Some(resolve::<D>),
            gethdrs: None,
            getip: None,
            finish: None,
            event: Some(event::<D>),
            release: None,
            destroy: Some(destroy::<D>),
            panic: None,
            list: Some(list::<D>),
        }
    }
}

/// A static table of callbacks, which the engine keeps a pointer to.
trait Table {
    fn name() -> &'static sys::vdi_methods;
    fn service() -> &'static sys::vdi_methods;
}

impl<D: Director> Table for D {
    fn name() -> &'static sys::vdi_methods {
        const { &Methods::<D>::NAME }
    }

    fn service() -> &'static sys::vdi_methods {
        const { &Methods::<D>::SERVICE }
    }
}

impl DirectorHandle {
    /// Registers `director` under a name. `None` when the VCL is leaving.
    ///
    /// In `vcl_init` or in a task of a warm VCL. May wait for the VCL lock.
    pub(crate) fn add<D: Director>(
        ctx: Ctx<'_>,
        name: &str,
        service: bool,
        director: Arc<D>,
    ) -> Option<Self> {
        let name = CString::new(name).ok()?;
        let methods = if service { D::service() } else { D::name() };
        let private = Arc::into_raw(director);
        // SAFETY: the table is static; `private` is one strong reference that
        // `destroy` gives back; the format takes one string.
        let raw = unsafe {
            sys::VRT_AddDirector(
                ctx.as_ptr(),
                methods,
                private.cast_mut().cast::<c_void>(),
                c"%s".as_ptr(),
                name.as_ptr(),
            )
        };
        if raw.is_null() {
            // SAFETY: the engine did not take it, and calls no `destroy`.
            drop(unsafe { Private::from_raw(private) });
            return None;
        }
        Some(DirectorHandle(AtomicPtr::new(raw.cast_mut())))
    }

    pub(super) fn as_ptr(&self) -> sys::VCL_BACKEND {
        self.0.load(Ordering::Acquire)
    }

    /// Whether the module's is the only reference: no stock director, no task
    /// and no `req.backend_hint` holds it.
    pub(crate) fn only_ours(&self) -> bool {
        // SAFETY: the module's reference keeps the director; its `vdir` is the
        // engine's own record, of which one aligned word is read. It may be
        // out of date by the time of the answer: the caller lets nobody take
        // new references first.
        unsafe {
            let Some(director) = self.as_ptr().as_ref() else {
                return true;
            };
            let record = director.vdir.cast_const();
            if record.is_null() || (*record).magic != sys::VCLDIR_MAGIC {
                return false;
            }
            ptr::read_volatile(&raw const (*record).refcnt) <= 1
        }
    }

    /// Notes when the health of what is behind the director last changed, for
    /// the lists.
    pub(crate) fn set_changed(&self, since: f64) {
        let raw = self.as_ptr();
        if !raw.is_null() {
            // SAFETY: the module's reference keeps the director.
            unsafe { sys::VRT_SetChanged(raw, since) };
        }
    }

    /// Gives the module's reference back; the engine calls `destroy` when
    /// nobody else holds one. On the resolver thread or the CLI thread, not in
    /// a callback. Doing it twice does nothing.
    pub(crate) fn remove(&self) {
        let mut raw = self.0.swap(ptr::null_mut(), Ordering::AcqRel).cast_const();
        if !raw.is_null() {
            // SAFETY: the module's own reference, given back once.
            unsafe { sys::VRT_DelDirector(&raw mut raw) };
        }
    }
}

/// The director behind the engine's pointer.
///
/// # Safety
/// `raw` is a director that [`DirectorHandle::add`] made for this `D`, and that
/// the engine keeps for the duration of the callback.
unsafe fn of<'d, D: Director>(raw: sys::VCL_BACKEND) -> Option<&'d D> {
    // SAFETY: the caller's contract; `priv` is the strong reference that `add`
    // handed over, and `destroy` has not run yet.
    unsafe { raw.as_ref()?.priv_.cast::<D>().cast_const().as_ref() }
}

unsafe extern "C" fn resolve<D: Director>(
    ctx: *const sys::vrt_ctx,
    raw: sys::VCL_BACKEND,
) -> sys::VCL_BACKEND {
    catch_panic("resolve", ptr::null(), || {
        // SAFETY: the engine calls this with the context of the call and with
        // a director that carries this table.
        let (Some(ctx), Some(director)) = (unsafe { Ctx::new(ctx) }, unsafe { of::<D>(raw) })
        else {
            return ptr::null();
        };
        director
            .resolve(ctx)
            .map_or(ptr::null(), BackendRef::into_ptr)
    })
}

unsafe extern "C" fn healthy<D: Director>(
    ctx: *const sys::vrt_ctx,
    raw: sys::VCL_BACKEND,
    changed: *mut sys::VCL_TIME,
) -> sys::VCL_BOOL {
    catch_panic("healthy", 0, || {
        // SAFETY: as in `resolve`.
        let (Some(ctx), Some(director)) = (unsafe { Ctx::new(ctx) }, unsafe { of::<D>(raw) })
        else {
            return 0;
        };
        let (healthy, since) = director.healthy(ctx);
        // SAFETY: null, or a place of the caller's for the time.
        if let Some(changed) = unsafe { changed.as_mut() } {
            *changed = since;
        }
        healthy.into()
    })
}

unsafe extern "C" fn list<D: Director>(
    ctx: *const sys::vrt_ctx,
    raw: sys::VCL_BACKEND,
    out: *mut sys::vsb,
    detail: c_int,
    json: c_int,
) {
    catch_panic("list", (), || {
        // SAFETY: as in `resolve`; the buffer is the engine's for this call.
        let (Some(ctx), Some(director), Some(mut out)) =
            (unsafe { Ctx::new(ctx) }, unsafe { of::<D>(raw) }, unsafe {
                Vsb::new(out)
            })
        else {
            return;
        };
        director.list(ctx, &mut out, detail != 0, json != 0);
    });
}

unsafe extern "C" fn event<D: Director>(raw: sys::VCL_BACKEND, event: sys::vcl_event_e::Type) {
    catch_panic("event", (), || {
        // SAFETY: as in `resolve`.
        let Some(director) = (unsafe { of::<D>(raw) }) else {
            return;
        };
        match event {
            sys::vcl_event_e::VCL_EVENT_WARM => director.temperature(true),
            sys::vcl_event_e::VCL_EVENT_COLD => director.temperature(false),
            sys::vcl_event_e::VCL_EVENT_DISCARD => {
                let director = ptr::from_ref(director);
                // SAFETY: `destroy` may run within this call and drop the
                // reference that `add` handed over; this one keeps the
                // director until the call has ended.
                let director = unsafe {
                    Private::increment_strong_count(director);
                    Private::from_raw(director)
                };
                director.discard();
            }
            _ => {}
        }
    });
}

unsafe extern "C" fn destroy<D: Director>(raw: sys::VCL_BACKEND) {
    catch_panic("destroy", (), || {
        // SAFETY: the engine's last word on this director: the reference that
        // `add` handed over is taken back, once.
        unsafe {
            if let Some(director) = raw.as_ref() {
                drop(Private::from_raw(director.priv_.cast::<D>().cast_const()));
            }
        }
    });
}
