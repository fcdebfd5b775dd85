// pbzip2, a parallel block compressor; this file runs the threads of one
// compression from start to clean-up, and holds the bug.
//
// Modelled on: Tinertia, figure 7 and section 5.3 (the real bug of pbzip2:
// main runs its clean-up code before all workers have ended), and Symbiosis
// (DSP), section 5.3.2 and figure 6 (c) (the producer sets the pointer fifo to
// null while a consumer is still using it). The rest was written from what
// such a tool does: main reads the file and feeds a bounded queue, consumers
// compress blocks with libbz2, a writer thread puts them in order.
//
// The bug: the last block written does not mean that the consumers are gone.
// main waits for the writer, then clears fifo; only afterwards does it wait
// for the consumers. The failing interleaving: the writer ends and main sets
// fifo to null while a consumer has still to take the queue's lock, or just
// woke up inside it, to learn that there is no more work; its next use of fifo
// dereferences null. The memory itself is freed after the join, so that the
// bug shows in this one way only.
#include "pbzip2.h"

#include <unistd.h>

#include <cstdio>

Options options;
queue *fifo = nullptr;
int producerDone = 0;
std::vector<OutBuffer> OutputBuffer;
pthread_mutex_t OutMutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t OutReady = PTHREAD_COND_INITIALIZER;
Totals totals;
pthread_mutex_t TotalsMutex = PTHREAD_MUTEX_INITIALIZER;

static void printTotals()
{
    pthread_mutex_lock(&TotalsMutex);
    std::printf("%s: %zu bytes in %d blocks -> %zu bytes\n",
                options.input.c_str(), totals.inBytes, totals.blocks,
                totals.outBytes);
    pthread_mutex_unlock(&TotalsMutex);
}

static int startConsumers(pthread_t *threads)
{
    int started = 0;

    while (started < options.consumers &&
           pthread_create(&threads[started], nullptr, consumer, nullptr) == 0)
        started++;
    if (started == 0)
        fail("cannot start a consumer");
    return started;
}

int compressFile()
{
    pthread_t consumers[MAX_CONSUMERS];
    pthread_t writer;
    size_t fileSize;
    int input = openInput(options.input, &fileSize);
    int output = openOutput(options.output, options.force);
    int numBlocks = static_cast<int>((fileSize + options.blockSize - 1) /
                                     options.blockSize);

    fifo = queueInit();
    OutputBuffer.resize(numBlocks);
    int started = startConsumers(consumers);
    if (pthread_create(&writer, nullptr, fileWriter, &output) != 0)
        fail("cannot start the file writer");

    producer(input, numBlocks, fileSize);
    close(input);

    // The writer ends when every block is in the file.
    pthread_join(writer, nullptr);
    queue *q = fifo;
    fifo = nullptr;
    for (int i = 0; i < started; i++)
        pthread_join(consumers[i], nullptr);
    queueDelete(q);

    OutputBuffer.clear();
    if (close(output) != 0)
        failErrno(options.output);
    if (!options.quiet)
        printTotals();
    return 0;
}
