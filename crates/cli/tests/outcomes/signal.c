// kind: abort
// says: signal 11
#include <signal.h>
int main(void) {
    raise(SIGSEGV); // HERE
    return 0;
}
