#include "world/async_helper.h"

#include "base/die.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct async_helper {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void (*work)(void *context); /* NULL: idle */
    void *context;
    bool is_closing;
};

static void *serve(void *argument)
{
    struct async_helper *h = argument;
    pthread_mutex_lock(&h->mutex);
    for (;;) {
        while (!h->work && !h->is_closing)
            pthread_cond_wait(&h->changed, &h->mutex);
        if (!h->work)
            break;
        pthread_mutex_unlock(&h->mutex);
        h->work(h->context);
        pthread_mutex_lock(&h->mutex);
        h->work = NULL;
        pthread_cond_broadcast(&h->changed);
    }
    pthread_mutex_unlock(&h->mutex);
    return NULL;
}

struct async_helper *async_helper_open(void)
{
    struct async_helper *h = memory_new(1, sizeof *h);
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->changed, NULL);
    int error = pthread_create(&h->thread, NULL, serve, h);
    if (error)
        die(STATUS_WRONG, "cannot start a helper thread: %s", strerror(error));
    return h;
}

void async_helper_close(struct async_helper *h)
{
    pthread_mutex_lock(&h->mutex);
    h->is_closing = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
    pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->mutex);
    free(h);
}

void async_helper_begin(struct async_helper *h, void (*work)(void *context), void *context)
{
    pthread_mutex_lock(&h->mutex);
    h->context = context;
    h->work = work;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->mutex);
}

void async_helper_end(struct async_helper *h)
{
    pthread_mutex_lock(&h->mutex);
    while (h->work)
        pthread_cond_wait(&h->changed, &h->mutex);
    pthread_mutex_unlock(&h->mutex);
}
