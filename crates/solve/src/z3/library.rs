//! The few functions of libz3 that are needed, declared by hand, behind safe types.
//!
//! Everything asked of Z3 goes in as SMT-LIB text and comes out as text; no other file sees a pointer.
//! `Z3_eval_smtlib2_string` would do with fewer functions, but in 4.8.12 it knows no `assert-soft`, and it keeps
//! its options, time limits included, for the whole process.
//!
//! The library is the system's (Debian: `libz3-dev`); all of these functions are in every version since 4.8.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{NonNull, null};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};

use crate::budgets::POLL;

/// Reference-counted objects of a context, and the context itself.
type Object = *mut c_void;

#[link(name = "z3")]
unsafe extern "C" {
    fn Z3_get_full_version() -> *const c_char;
    fn Z3_global_param_set(name: *const c_char, value: *const c_char);
    fn Z3_mk_config() -> Object;
    fn Z3_del_config(config: Object);
    fn Z3_set_param_value(config: Object, name: *const c_char, value: *const c_char);
    fn Z3_mk_context(config: Object) -> Object;
    fn Z3_del_context(context: Object);
    fn Z3_set_error_handler(context: Object, handler: Option<extern "C" fn(Object, c_int)>);
    fn Z3_get_error_code(context: Object) -> c_int;
    fn Z3_get_error_msg(context: Object, code: c_int) -> *const c_char;
    fn Z3_interrupt(context: Object);
    fn Z3_mk_string_symbol(context: Object, name: *const c_char) -> Object;
    fn Z3_mk_bool_sort(context: Object) -> Object;
    fn Z3_mk_const(context: Object, name: Object, sort: Object) -> Object;
    fn Z3_mk_params(context: Object) -> Object;
    fn Z3_params_inc_ref(context: Object, params: Object);
    fn Z3_params_dec_ref(context: Object, params: Object);
    fn Z3_params_set_uint(context: Object, params: Object, name: Object, value: c_uint);
    fn Z3_params_set_symbol(context: Object, params: Object, name: Object, value: Object);
    fn Z3_ast_to_string(context: Object, ast: Object) -> *const c_char;
    fn Z3_ast_vector_inc_ref(context: Object, vector: Object);
    fn Z3_ast_vector_dec_ref(context: Object, vector: Object);
    fn Z3_ast_vector_to_string(context: Object, vector: Object) -> *const c_char;
    fn Z3_model_inc_ref(context: Object, model: Object);
    fn Z3_model_dec_ref(context: Object, model: Object);
    fn Z3_model_to_string(context: Object, model: Object) -> *const c_char;
    fn Z3_mk_simple_solver(context: Object) -> Object;
    fn Z3_solver_inc_ref(context: Object, solver: Object);
    fn Z3_solver_dec_ref(context: Object, solver: Object);
    fn Z3_solver_set_params(context: Object, solver: Object, params: Object);
    fn Z3_solver_from_string(context: Object, solver: Object, text: *const c_char);
    fn Z3_solver_check_assumptions(
        context: Object,
        solver: Object,
        assumptions: c_uint,
        list: *const Object,
    ) -> c_int;
    fn Z3_solver_get_model(context: Object, solver: Object) -> Object;
    fn Z3_solver_get_unsat_core(context: Object, solver: Object) -> Object;
    fn Z3_solver_get_reason_unknown(context: Object, solver: Object) -> *const c_char;
    fn Z3_mk_optimize(context: Object) -> Object;
    fn Z3_optimize_inc_ref(context: Object, optimize: Object);
    fn Z3_optimize_dec_ref(context: Object, optimize: Object);
    fn Z3_optimize_set_params(context: Object, optimize: Object, params: Object);
    fn Z3_optimize_from_string(context: Object, optimize: Object, text: *const c_char);
    fn Z3_optimize_check(
        context: Object,
        optimize: Object,
        assumptions: c_uint,
        list: *const Object,
    ) -> c_int;
    fn Z3_optimize_get_model(context: Object, optimize: Object) -> Object;
    fn Z3_optimize_get_reason_unknown(context: Object, optimize: Object) -> *const c_char;
    fn Z3_optimize_get_lower(context: Object, optimize: Object, index: c_uint) -> Object;
}

/// What Z3 complained about.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("Z3: {0}")]
pub(crate) struct LibraryError(pub String);

/// What a check ended with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Satisfiable,
    Unsatisfiable,
    Unknown,
}

/// A parameter of a solver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setting {
    Number(&'static str, u32),
    Word(&'static str, &'static str),
}

/// As the library says, such as `4.8.12.0`.
pub(crate) fn version() -> String {
    // SAFETY: needs no context; the result is a static string.
    unsafe { copied(Z3_get_full_version()) }
}

/// # Safety
/// `text` is null, or ends with a null byte and stays valid during the call.
unsafe fn copied(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: per the contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Without it the library ends the process on its first error.
extern "C" fn ignore(_: Object, _: c_int) {}

/// What is best for orders: dense difference logic, and no time spent on what is relevant. Optimisation takes these
/// from the process only, so they are set once for all, always to the same values.
pub(crate) const TUNING: [(&CStr, &CStr); 2] =
    [(c"smt.arith.solver", c"3"), (c"smt.relevancy", c"0")];

static TUNED: Once = Once::new();

/// A world of terms and solvers. Used by one thread at a time, but for interrupts. Keeps its terms until it ends.
#[derive(Debug)]
pub(crate) struct Context(NonNull<c_void>);

impl Context {
    /// With parameters of the context, such as `unsat_core`.
    pub fn new(parameters: &[(&CStr, &CStr)]) -> Result<Context, LibraryError> {
        TUNED.call_once(|| {
            for (name, value) in TUNING {
                // SAFETY: C strings; called once, before there is any context of ours.
                unsafe { Z3_global_param_set(name.as_ptr(), value.as_ptr()) };
            }
        });
        // SAFETY: the configuration is made, used and deleted here; names and values are C strings.
        let context = unsafe {
            let config = Z3_mk_config();
            for (name, value) in parameters {
                Z3_set_param_value(config, name.as_ptr(), value.as_ptr());
            }
            let context = Z3_mk_context(config);
            Z3_del_config(config);
            context
        };
        let context = NonNull::new(context).ok_or(LibraryError("no context".to_owned()))?;
        // SAFETY: the context is valid, and the handler does nothing.
        unsafe { Z3_set_error_handler(context.as_ptr(), Some(ignore)) };
        Ok(Context(context))
    }

    fn raw(&self) -> Object {
        self.0.as_ptr()
    }

    /// What the last call complained about, if it did.
    fn result(&self) -> Result<(), LibraryError> {
        // SAFETY: the context is valid; the message is copied at once.
        unsafe {
            match Z3_get_error_code(self.raw()) {
                0 => Ok(()),
                code => Err(LibraryError(copied(Z3_get_error_msg(self.raw(), code)))),
            }
        }
    }

    /// A set of parameters with one reference, to be given back.
    fn params(&self, settings: &[Setting]) -> Result<Object, LibraryError> {
        // SAFETY: the context is valid; symbols live as long as it does.
        unsafe {
            let params = Z3_mk_params(self.raw());
            Z3_params_inc_ref(self.raw(), params);
            for setting in settings {
                match *setting {
                    Setting::Number(name, value) => {
                        Z3_params_set_uint(self.raw(), params, self.symbol(name)?, value);
                    }
                    Setting::Word(name, value) => {
                        let value = self.symbol(value)?;
                        Z3_params_set_symbol(self.raw(), params, self.symbol(name)?, value);
                    }
                }
            }
            Ok(params)
        }
    }

    fn symbol(&self, name: &str) -> Result<Object, LibraryError> {
        let name = c_string(name)?;
        // SAFETY: the library copies the name.
        Ok(unsafe { Z3_mk_string_symbol(self.raw(), name.as_ptr()) })
    }

    /// SAFETY: `model` must be null or a model of this context.
    unsafe fn model_text(&self, model: Object) -> Option<String> {
        if model.is_null() {
            return None;
        }
        // SAFETY: the text is copied while we hold a reference to the model.
        unsafe {
            Z3_model_inc_ref(self.raw(), model);
            let text = copied(Z3_model_to_string(self.raw(), model));
            Z3_model_dec_ref(self.raw(), model);
            Some(text)
        }
    }

    /// Runs something that may take long. Stops it when the flag is set.
    fn interruptible<T>(&self, flag: Option<&AtomicBool>, run: impl FnOnce() -> T) -> T {
        let Some(flag) = flag else { return run() };
        let context = Shared(self.raw());
        std::thread::scope(|scope| {
            let (ended, wait) = channel::<()>();
            scope.spawn(move || {
                let Shared(context) = { context };
                while wait.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                    if flag.load(Ordering::Relaxed) {
                        // SAFETY: made to be called from other threads; the context outlives the scope.
                        // Again and again, because it has no effect between two phases of a check.
                        unsafe { Z3_interrupt(context) };
                    }
                }
            });
            let result = run();
            drop(ended);
            result
        })
    }
}

/// A context, to be interrupted.
#[derive(Clone, Copy)]
struct Shared(Object);

// SAFETY: only used for `Z3_interrupt`, which is made for it.
unsafe impl Send for Shared {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nothing that borrows the context is left.
        unsafe { Z3_del_context(self.raw()) };
    }
}

fn c_string(text: &str) -> Result<CString, LibraryError> {
    CString::new(text).map_err(|_| LibraryError("a null byte in the text".to_owned()))
}

fn status(code: c_int) -> Status {
    match code {
        1 => Status::Satisfiable,
        -1 => Status::Unsatisfiable,
        _ => Status::Unknown,
    }
}

/// Decides a script.
#[derive(Debug)]
pub(crate) struct Decider<'c> {
    context: &'c Context,
    solver: Object,
}

impl<'c> Decider<'c> {
    pub fn new(context: &'c Context, settings: &[Setting]) -> Result<Decider<'c>, LibraryError> {
        let params = context.params(settings)?;
        // SAFETY: all objects belong to the context; our reference to the parameters is given back.
        unsafe {
            let solver = Z3_mk_simple_solver(context.raw());
            Z3_solver_inc_ref(context.raw(), solver);
            Z3_solver_set_params(context.raw(), solver, params);
            Z3_params_dec_ref(context.raw(), params);
            let decider = Decider { context, solver };
            context.result().map(|()| decider)
        }
    }

    /// Asserts what the script asserts; its other commands are ignored.
    pub fn read(&mut self, script: &str) -> Result<(), LibraryError> {
        let script = c_string(script)?;
        // SAFETY: the solver is valid, the script a C string that is not kept.
        unsafe { Z3_solver_from_string(self.context.raw(), self.solver, script.as_ptr()) };
        self.context.result()
    }

    /// With these Boolean constants of the script assumed to be true.
    pub fn check(
        &mut self,
        assumptions: &[String],
        interrupt: Option<&AtomicBool>,
    ) -> Result<Status, LibraryError> {
        let (context, solver) = (self.context.raw(), self.solver);
        let mut list: Vec<Object> = Vec::with_capacity(assumptions.len());
        for name in assumptions {
            let symbol = self.context.symbol(name)?;
            // SAFETY: symbol and sort belong to the context, which keeps the constant.
            list.push(unsafe { Z3_mk_const(context, symbol, Z3_mk_bool_sort(context)) });
        }
        // SAFETY: all are valid, and the list is as long as we say.
        let code = self.context.interruptible(interrupt, || unsafe {
            Z3_solver_check_assumptions(context, solver, list.len() as c_uint, list.as_ptr())
        });
        Ok(status(code))
    }

    pub fn model(&self) -> Option<String> {
        // SAFETY: the model belongs to the context.
        unsafe {
            let model = Z3_solver_get_model(self.context.raw(), self.solver);
            self.context.model_text(model)
        }
    }

    /// The assumptions that contradict the rest.
    pub fn core(&self) -> String {
        let context = self.context.raw();
        // SAFETY: the text is copied while we hold a reference to the vector.
        unsafe {
            let core = Z3_solver_get_unsat_core(context, self.solver);
            if core.is_null() {
                return String::new();
            }
            Z3_ast_vector_inc_ref(context, core);
            let text = copied(Z3_ast_vector_to_string(context, core));
            Z3_ast_vector_dec_ref(context, core);
            text
        }
    }

    pub fn reason(&self) -> String {
        // SAFETY: the solver is valid; the text is copied at once.
        unsafe { copied(Z3_solver_get_reason_unknown(self.context.raw(), self.solver)) }
    }
}

impl Drop for Decider<'_> {
    fn drop(&mut self) {
        // SAFETY: this is our reference.
        unsafe { Z3_solver_dec_ref(self.context.raw(), self.solver) };
    }
}

/// Decides a script and optimises its soft assertions.
#[derive(Debug)]
pub(crate) struct Optimizer<'c> {
    context: &'c Context,
    optimize: Object,
}

impl<'c> Optimizer<'c> {
    pub fn new(context: &'c Context, settings: &[Setting]) -> Result<Optimizer<'c>, LibraryError> {
        let params = context.params(settings)?;
        // SAFETY: all objects belong to the context; our reference to the parameters is given back.
        unsafe {
            let optimize = Z3_mk_optimize(context.raw());
            Z3_optimize_inc_ref(context.raw(), optimize);
            Z3_optimize_set_params(context.raw(), optimize, params);
            Z3_params_dec_ref(context.raw(), params);
            let optimizer = Optimizer { context, optimize };
            context.result().map(|()| optimizer)
        }
    }

    /// Asserts what the script asserts; its other commands are ignored.
    pub fn read(&mut self, script: &str) -> Result<(), LibraryError> {
        let script = c_string(script)?;
        // SAFETY: the optimiser is valid, the script a C string that is not kept.
        unsafe { Z3_optimize_from_string(self.context.raw(), self.optimize, script.as_ptr()) };
        self.context.result()
    }

    pub fn check(&mut self, interrupt: Option<&AtomicBool>) -> Status {
        let (context, optimize) = (self.context.raw(), self.optimize);
        // SAFETY: both are valid; there are no assumptions.
        let code = self.context.interruptible(interrupt, || unsafe {
            Z3_optimize_check(context, optimize, 0, null())
        });
        status(code)
    }

    /// The best one so far, also where the check came to no end.
    pub fn model(&self) -> Option<String> {
        // SAFETY: the model belongs to the context.
        unsafe {
            let model = Z3_optimize_get_model(self.context.raw(), self.optimize);
            self.context.model_text(model)
        }
    }

    pub fn reason(&self) -> String {
        // SAFETY: the optimiser is valid; the text is copied at once.
        unsafe { copied(Z3_optimize_get_reason_unknown(self.context.raw(), self.optimize)) }
    }

    /// What the soft assertions, all of one id, cost at least; empty if there are none.
    pub fn lower_bound(&self) -> String {
        // SAFETY: the index is checked by the library; the context keeps the term, its text is copied at once.
        unsafe {
            let lower = Z3_optimize_get_lower(self.context.raw(), self.optimize, 0);
            if lower.is_null() {
                return String::new();
            }
            copied(Z3_ast_to_string(self.context.raw(), lower))
        }
    }
}

impl Drop for Optimizer<'_> {
    fn drop(&mut self) {
        // SAFETY: this is our reference.
        unsafe { Z3_optimize_dec_ref(self.context.raw(), self.optimize) };
    }
}
