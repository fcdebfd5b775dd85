// kind: assertion
// says: error location
// flags: --nondet 4
extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_assume(int);
extern void reach_error(void);
int main(void) {
    int x = __VERIFIER_nondet_int();
    __VERIFIER_assume(x == 4);
    reach_error(); // HERE
    return 0;
}
