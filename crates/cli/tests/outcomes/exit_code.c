// kind: exit-code
// says: exited with code 7
// flags: --fail-on-exit
int main(void) {
    return 7;
}
