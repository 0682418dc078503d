/* A custom policy in native code: what it sees, and the functions that it exports.
 *
 * After every instant with events quickswap calls
 *
 *     int64_t start(const struct qs_view *view);
 *
 * until it returns QS_NONE. It returns the number of a class, whose oldest waiting job then starts,
 * or QS_JOB(place), a job of the queue. The optional function
 *
 *     double wake_at(const struct qs_view *view);
 *
 * returns a future time at which the policy is called even without an event, or INFINITY.
 *
 * Classes are numbered as in the system, from 0. Times are in seconds. The policy changes nothing but
 * its state and, by qs_random, its random numbers.
 */
#ifndef QUICKSWAP_POLICY_H
#define QUICKSWAP_POLICY_H

#include <stdint.h>

#define QS_VERSION 2
#define QS_NONE (-1)
#define QS_JOB(place) (-2 - (place))

/* A waiting job, or one in service. */
struct qs_job {
    int64_t number;   /* in order of arrival */
    int64_t cls;      /* class */
    int64_t need;     /* servers */
    double arrival;
    double estimate;  /* of the size; NAN if there is none */
    double start;     /* of service; NAN while it waits */
    int64_t place;    /* in its list */
};

struct qs_view {
    int64_t version;               /* QS_VERSION */
    double time;
    int64_t servers;
    int64_t free;                  /* servers */
    int64_t classes;               /* length of the next four arrays */
    const int64_t *needs;          /* servers; the largest in a group of needs */
    const int64_t *waiting;        /* jobs */
    const int64_t *running;        /* jobs in service */
    const int64_t *heads;          /* of the oldest waiting job: smaller is older; INT64_MAX: none waits */
    int64_t waiting_jobs;          /* length of the queue; 0 unless the policy sees jobs */
    const struct qs_job *queue;    /* in order of arrival */
    int64_t jobs_in_service;
    const struct qs_job *in_service; /* in order of start */
    int64_t words;                 /* length of the state */
    union qs_word *state;
    uint64_t *random;              /* for qs_random */
    const int64_t *head_needs;     /* of the oldest waiting job of each class, servers; needs if none waits */
};

/* Eight bytes of the state of a run. */
union qs_word {
    int64_t whole;
    double number;
};

/* The next uniform number in [0, 1) of the replication (SplitMix64). */
static inline double qs_random(const struct qs_view *view)
{
    uint64_t z = *view->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

#endif
