package main

import (
	"maps"
	"slices"
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

const (
	defaultMemoryLimit = 160 << 20
	gcPercent          = 50
)

// tuning is the dynamic configuration. What the user gave wins.
func tuning(user dynamicconfig.ConfigValueMap) dynamicconfig.StaticClient {
	values := dynamicconfig.StaticClient{}
	for _, group := range []map[dynamicconfig.Key]any{latencyTuning(), memoryTuning(), features()} {
		maps.Copy(values, group)
	}
	for key, value := range user {
		values[key] = slices.Clone(value)
	}
	return values
}

// latencyTuning removes waits that make sense in a cluster with hundreds of shards only.
func latencyTuning() map[dynamicconfig.Key]any {
	return map[dynamicconfig.Key]any{
		// Each queue of a shard is read at most this often a second. The default, 20, holds every step of a workflow up
		// to 50 ms: a turn of five steps takes 250 ms longer for nothing.
		dynamicconfig.TransferProcessorMaxPollRPS.Key(): 2000,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():    2000,
		// Ten looks a second: the list in the UI is that much behind, and a turn that began and ended between two looks is written once.
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): 2,
		// More partitions than one only help many hosts; on one they forward tasks and polls to each other.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// How long the server holds a caller who waits for a workflow or an update. It keeps only one notification per
		// waiting caller and drops the next: when a workflow ends within a millisecond of the step before, on a busy
		// machine about one caller in a thousand misses the end and waits this long (default 20 s) before asking again.
		dynamicconfig.HistoryLongPollExpirationInterval.Key(): time.Second,
	}
}

// memoryTuning sizes for one user's machine what the defaults size for a cluster node.
func memoryTuning() map[dynamicconfig.Key]any {
	return map[dynamicconfig.Key]any{
		// An entry is a whole workflow, open or closed, some 20-100 KB. One that fell out is read again from SQLite.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 256,
		dynamicconfig.EventsCacheMaxSizeBytes.Key():      128 << 10, // per shard, as stored; several times that in memory
		// Keeps what was written for replication to other clusters, of which there are none.
		dynamicconfig.XDCCacheMaxSizeBytes.Key(): 64 << 10,
		// Idle goroutines with a stack each: by default 512 of each kind.
		dynamicconfig.TransferProcessorSchedulerWorkerCount.Key():   64,
		dynamicconfig.TimerProcessorSchedulerWorkerCount.Key():      64,
		dynamicconfig.VisibilityProcessorSchedulerWorkerCount.Key(): 32,
		// Another 640 of them for replication.
		dynamicconfig.ReplicationProcessorSchedulerWorkerCount.Key():            1,
		dynamicconfig.ReplicationLowPriorityProcessorSchedulerWorkerCount.Key(): 1,
	}
}

// features are on by default in this version of the server; Windlass depends on them, so they are named.
func features() map[dynamicconfig.Key]any {
	return map[dynamicconfig.Key]any{
		dynamicconfig.EnableEagerWorkflowStart.Key():                           true,
		dynamicconfig.EnableActivityEagerExecution.Key():                       true,
		dynamicconfig.FrontendEnableUpdateWorkflowExecution.Key():              true,
		dynamicconfig.FrontendEnableUpdateWorkflowExecutionAsyncAccepted.Key(): true,
	}
}
