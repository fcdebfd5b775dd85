//! Native functions that are no events.

/// Functions of [`is_pure`] that write where the caller wants it: nobody sees whether others look there.
pub(crate) fn writes_memory(name: &str) -> bool {
    let writing = ["printf", "scanf", "strto", "getopt", "bzero", "modf", "frexp"];
    name.contains("basic_string")
        || name.contains("_Rb_tree_")
        || name.starts_with("_ZNSs")
        || writing.iter().any(|w| name.contains(w))
}

/// Native functions whose result depends on their arguments alone and that write nothing others can see:
/// calling them is not an event.
pub(crate) fn is_pure(name: &str) -> bool {
    const PURE: &[&str] = &[
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "tanh",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "pow",
        "sqrt",
        "cbrt",
        "hypot",
        "fabs",
        "floor",
        "ceil",
        "round",
        "trunc",
        "fmod",
        "modf",
        "ldexp",
        "frexp",
        "lround",
        "llround",
        "rint",
        "nearbyint",
        "fmin",
        "fmax",
        "erf",
        "tgamma",
        "lgamma",
        "abs",
        "labs",
        "llabs",
        "div",
        "ldiv",
        "toupper",
        "tolower",
        "isalpha",
        "isdigit",
        "isalnum",
        "isspace",
        "isupper",
        "islower",
        "isprint",
        "ispunct",
        "isxdigit",
        "iscntrl",
        "isgraph",
        "isblank",
        "__ctype_b_loc",
        "__ctype_tolower_loc",
        "__ctype_toupper_loc",
        "__errno_location",
        "htons",
        "htonl",
        "ntohs",
        "ntohl",
        "getuid",
        "sysconf",
        "getpagesize",
        "get_nprocs",
        "dlsym",
        "atof",
        "atoi",
        "atol",
        "atoll",
        "strtol",
        "strtoul",
        "strtoll",
        "strtoull",
        "strtod",
        "strtof",
        "__isoc23_strtol",
        "__isoc23_strtoul",
        "__isoc23_strtoll",
        "__isoc23_strtoull",
        "snprintf",
        "sprintf",
        "vsnprintf",
        "sscanf",
        "__isoc99_sscanf",
        "__isoc23_sscanf",
        "getopt",
        "getopt_long",
        "bzero",
        "basename",
        "dirname",
    ];
    PURE.contains(&name)
        || PURE.iter().any(|p| name.strip_suffix(['f', 'l']) == Some(p))
        || name.starts_with("_ZNKSt")
        || name.starts_with("_ZNSs")
        || name.starts_with("_ZNSt7__cxx1112basic_string")
        || name.starts_with("_ZSt") && name.contains("_Rb_tree_")
        || name.starts_with("_ZNSt8__detail")
}
