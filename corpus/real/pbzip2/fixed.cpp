// The life of one compression in pbzip2 without its bug: the twin of
// compress.cpp. All other files of the program are shared by both.
//
// Writer and consumers are joined before the queue is taken away from them.
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

    // The writer ends when every block is in the file, the consumers when they
    // found the queue empty; nobody uses the queue then.
    pthread_join(writer, nullptr);
    for (int i = 0; i < started; i++)
        pthread_join(consumers[i], nullptr);
    queueDelete(fifo);
    fifo = nullptr;

    OutputBuffer.clear();
    if (close(output) != 0)
        failErrno(options.output);
    if (!options.quiet)
        printTotals();
    return 0;
}
