#pragma once

#include <cstdint>

namespace tephra::stream {

// Numbers of the perf.data format that the kernel's header does not have; used by its reader and its writer.

// Record types that perf's user space adds to the kernel's.
enum UserRecordType : uint32_t {
  kRecordHeaderAttr = 64,
  kRecordHeaderEventType = 65,
  kRecordTracingData = 66,
  kRecordBuildId = 67,
  kRecordFinishedRound = 68,
  kRecordIdIndex = 69,
  kRecordAuxtraceInfo = 70,
  kRecordAuxtrace = 71,
  kRecordEventUpdate = 78,
  kRecordHeaderFeature = 80,
  kRecordCompressed = 81,
  kRecordFinishedInit = 82,
  kRecordCompressed2 = 83,
  // simpleperf's own: symbols of the kernel, parts of large records, call chains that samples hold already, and how
  // unwinding went.
  kRecordFirstOfSimpleperf = 32768,
  kRecordEndOfSimpleperf = 32768 + 64,
};

// Sections behind the data, by their bit in the header.
enum PerfFeature : uint32_t {
  kFeatureTracingData = 1,
  kFeatureBuildId = 2,
  kFeatureHostname = 3,
  kFeatureOsRelease = 4,
  kFeatureVersion = 5,
  kFeatureArch = 6,
  kFeatureCpuCount = 7,
  kFeatureCpuDescription = 8,
  kFeatureCpuId = 9,
  kFeatureTotalMemory = 10,
  kFeatureCommandLine = 11,
  kFeatureEventDescription = 12,
  kFeatureCpuTopology = 13,
  kFeatureNumaTopology = 14,
  kFeatureBranchStack = 15,  // no content: the samples carry branch stacks
  kFeaturePmuMappings = 16,
  kFeatureGroupDescription = 17,
  kFeatureSampleTime = 21,
  kFeatureClockId = 23,
  kFeatureCompressed = 27,
  kFeatureClockData = 29,
  kFeatureSimpleperfFiles = 128,         // simpleperf's: symbol tables
  kFeatureSimpleperfMeta = 129,          // pairs of texts
  kFeatureSimpleperfFileMessages = 132,  // the symbol tables of later versions, as protocol buffers
  kFeatureTephraFacts = 200,             // ours: lines of text, see stream/recorder_facts.h
  kFeatureTephraNames = 201,             // ours: see stream/embedded_names.h; empty where there are none
  kFeatureTephraJit = 202,               // ours: names of generated code, see stream/jit_log.h
};
inline constexpr uint32_t kFeatureBits = 256;

}  // namespace tephra::stream
