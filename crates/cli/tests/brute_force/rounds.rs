//! Random programs of loops that come round: timed waits that time out and begin again, tries that fail and are made again,
//! weak exchanges, polling by sleeps and by the clock. What the others do meanwhile is plain.
//!
//! `main` returns a number made of what each thread saw and what is left, so that two searches that see the same codes
//! have hardly seen different ends.

use unravel_trace::Rng;

use super::programs::HEAD;

/// A program that depends on nothing but the generator.
pub fn program(rng: &mut Rng) -> String {
    let threads = 2 + rng.below(4) / 3;
    let mut source = HEAD.to_owned();
    for number in 0..threads {
        source +=
            &format!("static void *t{number}(void *a)\n{{\n\tunsigned long r = 0;\n\t(void)a;\n");
        for operation in body(rng, number, threads) {
            source += &format!("\t{operation}\n");
        }
        source += "\treturn (void *)r;\n}\n";
    }
    source += "int main(void)\n{\n\tpthread_t t[3];\n\tvoid *r[3] = { 0, 0, 0 };\n";
    source += &format!("\tsem_init(&s, 0, {});\n\tmtx_init(&k, mtx_plain);\n", rng.below(2));
    for number in 0..threads {
        source += &format!("\tpthread_create(&t[{number}], 0, t{number}, 0);\n");
    }
    for number in 0..threads {
        source += &format!("\tpthread_join(t[{number}], &r[{number}]);\n");
    }
    if rng.below(3) == 0 {
        source += &format!("\tassert(x != {} || y == {});\n", 1 + rng.below(2), rng.below(2));
    }
    source += "\tunsigned long all = (unsigned long)r[0] * 7 + (unsigned long)r[1] * 31 + (unsigned long)r[2] * 59;\n";
    source + "\treturn (int)((all + (unsigned)(x * 3 + y * 11 + g * 101)) % 251);\n}\n"
}

fn body(rng: &mut Rng, number: u32, threads: u32) -> Vec<String> {
    if number == 0 {
        let mut body = vec![round(rng)];
        if rng.below(2) == 0 {
            let at = rng.below(2) as usize;
            body.insert(at, plain(rng));
        }
        return body;
    }
    let length = if threads == 2 { 1 + rng.below(3) } else { 1 + rng.below(2) };
    let mut body: Vec<String> = (0..length).map(|_| plain(rng)).collect();
    if rng.below(3) == 0 {
        let at = rng.below(length) as usize;
        body[at] = round(rng);
    }
    body
}

/// Something that may take several rounds.
fn round(rng: &mut Rng) -> String {
    let a = *rng.pick(&["x", "y"]);
    let ms = 1 + rng.below(3);
    let inside = inside(rng);
    let until = format!("struct timespec u = in_ms({ms});");
    let again = *rng.pick(&["u = in_ms(1);", "u = in_ms(2);", "r |= 1;", ";"]);
    match rng.below(20) {
        0 | 1 => format!(
            "{{ {until} pthread_mutex_lock(&m); while (g == 0 && pthread_cond_timedwait(&c, &m, &u) == 0) ; \
             r = r * 3 + g; pthread_mutex_unlock(&m); }}"
        ),
        2 | 3 => format!(
            "{{ {until} pthread_mutex_lock(&m); while (g == 0) if (pthread_cond_timedwait(&c, &m, &u) != 0) {{ {again} }} \
             {inside} pthread_mutex_unlock(&m); }}"
        ),
        4 => format!(
            "{{ {until} pthread_mutex_lock(&m); while (g == 0 && {a} == 0) pthread_cond_timedwait(&c, &m, &u); \
             {inside} pthread_mutex_unlock(&m); }}"
        ),
        5 | 6 => format!(
            "{{ {until} while (sem_timedwait(&s, &u) != 0) {{ {again} }} r = r * 3 + {a}; }}"
        ),
        7 | 8 => format!(
            "{{ {until} while (pthread_mutex_timedlock(&m, &u) != 0) {{ {again} }} {inside} pthread_mutex_unlock(&m); }}"
        ),
        9 => format!("while (mtx_trylock(&k) != thrd_success) ; {inside} mtx_unlock(&k);"),
        10 => format!(
            "{{ int e = {a}; while (!atomic_compare_exchange_weak(&{a}, &e, e + 1)) ; r = r * 3 + (unsigned)e; }}"
        ),
        11 => format!(
            "for (int e = 0; !atomic_compare_exchange_weak(&l, &e, 1); e = 0) ; {inside} l = 0;"
        ),
        12 => format!(
            "{{ {until} while (pthread_rwlock_timedwrlock(&w, &u) != 0) {{ {again} }} {inside} pthread_rwlock_unlock(&w); }}"
        ),
        13 => format!(
            "while ({a} == 0) {{ {until} pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &u); pthread_mutex_unlock(&m); }}"
        ),
        14 => format!("{{ {until} while (is_before(&u)) ; }} r = r * 3 + {a};"),
        15 => format!("{{ {until} while ({a} == 0 && is_before(&u)) ; }} r = r * 3 + x;"),
        16 => format!("while ({a} == 0) usleep({ms}000);"),
        17 => format!(
            "while (pthread_mutex_trylock(&m) != 0) usleep({ms}000); {inside} pthread_mutex_unlock(&m);"
        ),
        18 => format!(
            "while (mtx_trylock(&k) != thrd_success) thrd_yield(); {inside} mtx_unlock(&k);"
        ),
        _ => {
            format!("{{ {until} while ({a} == 0 && is_before(&u)) usleep(1000); }} r = r * 3 + x;")
        }
    }
}

/// What others do.
fn plain(rng: &mut Rng) -> String {
    let a = *rng.pick(&["x", "y"]);
    let ms = 1 + rng.below(3);
    let inside = inside(rng);
    match rng.below(16) {
        0 => format!("{a} = 1;"),
        1 => format!("{a}++;"),
        2 => format!("r = r * 3 + {a};"),
        3 | 4 => format!("usleep({ms}000);"),
        5 | 6 => {
            "pthread_mutex_lock(&m); g = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);"
                .into()
        }
        7 => "pthread_mutex_lock(&m); g = 1; pthread_mutex_unlock(&m); pthread_cond_signal(&c);"
            .into(),
        8 => "pthread_cond_broadcast(&c);".into(),
        9 => "sem_post(&s);".into(),
        10 => format!("pthread_mutex_lock(&m); {inside} pthread_mutex_unlock(&m);"),
        11 => {
            format!("pthread_mutex_lock(&m); usleep({ms}000); {inside} pthread_mutex_unlock(&m);")
        }
        12 => format!("mtx_lock(&k); {inside} mtx_unlock(&k);"),
        13 => format!("pthread_rwlock_wrlock(&w); {inside} pthread_rwlock_unlock(&w);"),
        14 => "if (atomic_exchange(&l, 1) == 0) { r = r * 3 + x; l = 0; }".into(),
        _ => format!("{a} = 1; r = r * 3 + x;"),
    }
}

fn inside(rng: &mut Rng) -> &'static str {
    let done = ["g = 1;", "r = r * 3 + x;", "x++;", "y = 2;", "r = r * 3 + g;", "x = 1; y++;"];
    rng.pick::<&'static str>(&done)
}
