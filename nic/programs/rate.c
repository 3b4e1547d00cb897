/* How fast: numbers to compare with those of other programs on the same device.
 *
 *   puts     writes of 8 bytes by one thread, 16 in flight, each with a completion: writes per second
 *   puts-2   the same by two threads, each with a queue pair of its own: writes per second of both
 *   socket   bytes through a socket from one process to another, 64 KB at a time: MB per second; needs no device */
#include "../examples/verbs.h"
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DEPTH = 16, CHUNK = 65536 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static int through_a_socket(int seconds) {
  int ends[2];
  static char buffer[CHUNK];
  check(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
  pid_t child = fork();
  while (child == 0) check(write(ends[0], buffer, CHUNK) > 0, "write");
  double begin = now(), bytes = 0;
  while (now() < begin + seconds) {
    ssize_t count = read(ends[1], buffer, CHUNK);
    check(count > 0, "read");
    bytes += count;
  }
  printf("%.0f MB/s\n", bytes / (now() - begin) / 1e6);
  return kill(child, SIGKILL);
}

/* What a thread posts to, and how many writes have completed; in cache lines of its own. */
struct putter {
  struct ibv_qp *qp;
  unsigned long done;
  char unused[48];
};

/* Posts until the time is over. */
static void *put(void *given) {
  struct putter *putter = given;
  struct ibv_qp *qp = putter->qp;
  for (int ahead = 0; ahead < DEPTH; ahead++) post(qp, IBV_WR_RDMA_WRITE, &words[0], &words[8], 8, 0);
  for (; !is_over(); putter->done++) {
    await(qp, 1);
    post(qp, IBV_WR_RDMA_WRITE, &words[0], &words[8], 8, 0);
  }
  return NULL;
}

int main(int count, char **arguments) {
  if (count > 1 && is(arguments, "socket")) return through_a_socket(count > 2 ? atoi(arguments[2]) : 2);
  start(count, arguments, "puts|puts-2|socket");
  int has_two = is(arguments, "puts-2");
  struct putter putters[2] = {{ .qp = connection() }};
  if (has_two) putters[1].qp = connection();
  pthread_t other;
  double begin = now();
  if (has_two) check(!pthread_create(&other, NULL, put, &putters[1]), "pthread_create");
  put(&putters[0]);
  if (has_two) pthread_join(other, NULL);
  printf("%.0f puts/s\n", (putters[0].done + putters[1].done) / (now() - begin));
  return 0;
}
