/*
 * freebsd-aa, repaired: the peer's address and port are read under the control
 * block's lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define AUDITORS 2

struct inpcb {
    pthread_mutex_t inp_lock;
    uint32_t inp_faddr; /* the peer, both 0 while not connected */
    uint16_t inp_fport;
};

struct kaudit_record {
    uint32_t ar_raddr;
    uint16_t ar_rport;
};

static struct inpcb pcb = { .inp_lock = PTHREAD_MUTEX_INITIALIZER };

static void in_pcbconnect(struct inpcb *inp, uint32_t addr, uint16_t port)
{
    pthread_mutex_lock(&inp->inp_lock);
    inp->inp_faddr = addr;
    inp->inp_fport = port;
    pthread_mutex_unlock(&inp->inp_lock);
}

static void audit_arg_file(struct kaudit_record *ar, struct inpcb *inp)
{
    pthread_mutex_lock(&inp->inp_lock);
    ar->ar_raddr = inp->inp_faddr;
    ar->ar_rport = inp->inp_fport;
    pthread_mutex_unlock(&inp->inp_lock);
}

static void audit_commit(const struct kaudit_record *ar)
{
    assert((ar->ar_raddr != 0) == (ar->ar_rport != 0));
}

static void *audited_syscall(void *arg)
{
    struct kaudit_record ar = { 0, 0 };
    audit_arg_file(&ar, arg);
    audit_commit(&ar);
    return NULL;
}

static void *connect_thread(void *arg)
{
    in_pcbconnect(arg, 0x7f000001, 8080);
    return NULL;
}

int main(void)
{
    pthread_t auditor[AUDITORS], connector;
    for (int k = 0; k < AUDITORS; k++)
        pthread_create(&auditor[k], NULL, audited_syscall, &pcb);
    pthread_create(&connector, NULL, connect_thread, &pcb);
    for (int k = 0; k < AUDITORS; k++)
        pthread_join(auditor[k], NULL);
    pthread_join(connector, NULL);
    return 0;
}
