// A library with a lock of its own, which nothing outside can name.
#include <pthread.h>

static pthread_mutex_t plugin_mutex;

extern "C" pthread_mutex_t* lock_of_plugin() { return &plugin_mutex; }
