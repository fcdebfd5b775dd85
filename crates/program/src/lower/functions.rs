//! The table of functions: every function of the module, and those that lowering adds.

use unravel_code::{Abi, Function, FunctionId, Signature};

use super::constants::{Number, Symbol};
use super::{ModuleLowering, types};
use crate::ir::{Type, Value};

impl<'m> ModuleLowering<'m> {
    /// Gives every function its id, and with it its address.
    pub(super) fn declare_functions(&mut self) {
        for function in self.module.functions() {
            let intrinsic = self.module.intrinsic_base_name(function);
            let symbol = function.name();
            let name = intrinsic.unwrap_or_else(|| symbol.clone());
            let weak = function.is_declaration() && function.is_extern_weak();
            let described = Function {
                display_name: self.debug.function_name(function),
                body: None,
                machine_code: None,
                signature: self.signature(function),
                weak,
                address_taken: is_address_taken(function),
                name: name.clone(),
            };
            let id = self.add_function(described);
            self.functions.insert(function, id);
            if !function.is_declaration() {
                self.defined.insert(id);
            }
            if weak {
                // Its address is null if it stays undefined, so that only the VM knows it.
                let external = self.external(&symbol, true);
                let address = Number { symbol: Symbol::External(external), value: 0 };
                self.addresses.insert(function, address);
            }
        }
        self.declare_ifuncs();
        self.declare_aliases();
    }

    pub(super) fn add_function(&mut self, function: Function) -> FunctionId {
        let id = FunctionId(self.program.functions.len() as u32);
        self.program.by_name.entry(function.name.clone()).or_insert(id);
        self.program.functions.push(function);
        id
    }

    /// An ifunc becomes a function that asks the resolver and calls what it answers.
    fn declare_ifuncs(&mut self) {
        for ifunc in self.module.ifuncs() {
            let ty = ifunc.value_type();
            let name = ifunc.name();
            let id = self.add_function(Function {
                display_name: name.clone(),
                name,
                body: None,
                machine_code: None,
                signature: Signature {
                    params: ty
                        .params()
                        .iter()
                        .map(|p| types::abi(self.layout, *p, false))
                        .collect(),
                    result: types::abi(self.layout, ty.result(), false),
                    variadic: ty.is_variadic(),
                },
                weak: false,
                address_taken: true,
            });
            self.functions.insert(ifunc, id);
            self.defined.insert(id);
        }
    }

    fn declare_aliases(&mut self) {
        for alias in self.module.aliases() {
            if let Some(id) = self.function_of(alias) {
                self.program.by_name.entry(alias.name()).or_insert(id);
            }
        }
    }

    /// The function that a constant is, through aliases and casts.
    pub(super) fn function_of(&self, value: Value<'m>) -> Option<FunctionId> {
        let mut value = value;
        // Aliases cannot form a cycle in a verified module; the bound guards against a surprise.
        for _ in 0..64 {
            if let Some(id) = self.functions.get(&value) {
                return Some(*id);
            }
            if value.is_alias() {
                value = value.aliasee()?;
            } else if value.is_constant_expr() && is_cast(value) {
                value = value.operand(0);
            } else {
                return None;
            }
        }
        None
    }

    fn signature(&self, function: Value<'m>) -> Signature {
        let ty = function.value_type();
        let params = ty.params().into_iter().enumerate().map(|(i, param)| {
            let position = i as u32 + 1;
            match function.attribute_type(position, self.attributes.byval) {
                Some(pointee) => self.by_value(pointee),
                None => {
                    let signed = function.has_attribute(position, self.attributes.signext);
                    types::abi(self.layout, param, signed)
                }
            }
        });
        Signature {
            params: params.collect(),
            result: {
                let signed = function.has_attribute(0, self.attributes.signext);
                types::abi(self.layout, ty.result(), signed)
            },
            variadic: ty.is_variadic(),
        }
    }

    /// How a `byval` argument of this type is passed.
    pub(super) fn by_value(&self, pointee: Type<'m>) -> Abi {
        Abi::ByVal {
            bytes: self.layout.size(pointee) as u32,
            align: self.layout.align(pointee).max(8) as u32,
        }
    }

    /// A function without a body of the given name and types: an intrinsic on one lane of a vector.
    pub(super) fn scalar_intrinsic(&mut self, name: &str, signature: Signature) -> FunctionId {
        let key = (name.to_owned(), format!("{signature:?}"));
        if let Some(id) = self.scalar_intrinsics.get(&key) {
            return *id;
        }
        let id = self.add_function(Function {
            name: name.to_owned(),
            display_name: name.to_owned(),
            body: None,
            machine_code: None,
            signature,
            weak: false,
            address_taken: false,
        });
        self.scalar_intrinsics.insert(key, id);
        id
    }
}

fn is_cast(value: Value<'_>) -> bool {
    use llvm_sys::LLVMOpcode::{LLVMAddrSpaceCast, LLVMBitCast};
    matches!(value.constant_opcode(), Some(LLVMBitCast | LLVMAddrSpaceCast))
}

/// Is a function used for anything but being called?
fn is_address_taken(function: Value<'_>) -> bool {
    function.users().any(|user| {
        if user.is_call() {
            return user.arguments().contains(&function);
        }
        // A label's address names its function; a function names its personality.
        !user.is_block_address() && !user.is_function()
    })
}
