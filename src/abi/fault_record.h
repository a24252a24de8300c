/*
 * What the raw data of samples of page faults says (PERF_SAMPLE_RAW of minor-faults and major-faults, 32 bits): from the
 * recorder to readers, in files. The kernel's own records have zero there: nothing is told.
 */
#ifndef TEPHRA_ABI_FAULT_RECORD_H
#define TEPHRA_ABI_FAULT_RECORD_H

/* What is mapped at the address is known: */
#define TEPHRA_FAULT_MAPPING_KNOWN 1
#define TEPHRA_FAULT_FILE 2        /* a file, and not memory alone */
#define TEPHRA_FAULT_MEMORY_FILE 4 /* one that is in memory alone: tmpfs, shared memory */
#define TEPHRA_FAULT_SHARED 8      /* written pages are seen by others that map it */
#define TEPHRA_FAULT_HEAP 16       /* what brk moves the end of */
#define TEPHRA_FAULT_STACK 32      /* of the program, or of the thread that faulted */
#define TEPHRA_FAULT_HUGETLB 512   /* huge pages that were set aside (hugetlbfs) */
/* Why the processor faulted is known: */
#define TEPHRA_FAULT_CAUSE_KNOWN 64
#define TEPHRA_FAULT_PRESENT 128 /* there was a page, which could not be used so */
#define TEPHRA_FAULT_WRITE 256

#endif
