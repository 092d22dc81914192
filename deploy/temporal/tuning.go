package main

import (
	"maps"
	"slices"
	"time"

	"go.temporal.io/server/common/dynamicconfig"
)

// defaultMemoryLimit bounds the garbage where much is in use. With GOGC=50 the server takes 18 MB less, and 7 % more processor time.
const defaultMemoryLimit = 160 << 20

// tuning returns the dynamic configuration. The user's values win.
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

// latencyTuning removes delays that only make sense in a cluster with hundreds of shards.
func latencyTuning() map[dynamicconfig.Key]any {
	return map[dynamicconfig.Key]any{
		// Maximum polls of each shard's queue per second. The default, 20, delays every step of a workflow by up to 50 ms, and a turn of five
		// steps by 250 ms.
		dynamicconfig.TransferProcessorMaxPollRPS.Key(): 2000,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():    2000,
		// The list in the UI lags by up to a poll interval, and a turn that starts and ends between two polls is written once.
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): 2,
		// More than one partition only helps with many hosts; on one they forward tasks and polls to each other.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// How long the server holds a caller that waits for a workflow or an update. It buffers only one notification per waiting caller and
		// drops the next: if a workflow ends within a millisecond of the step before, on a busy machine about one caller in a thousand misses the
		// end and waits this long (default 20 s) before it asks again.
		dynamicconfig.HistoryLongPollExpirationInterval.Key(): time.Second,
	}
}

// memoryTuning reduces sizes meant for a cluster node to those of one user's machine.
func memoryTuning() map[dynamicconfig.Key]any {
	return map[dynamicconfig.Key]any{
		// Each workflow task has a timer for its timeout. By default it stays until it fires, when most workflows are no longer in the cache and
		// are read again; this way it is deleted as soon as the task is done, by executionStore. What the server warns of is about Cassandra.
		dynamicconfig.EnableBestEffortDeleteTasksOnWorkflowUpdate.Key(): true,
		// An entry is a whole workflow, open or closed, some 20-100 KB. An evicted one is read again from SQLite.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 256,
		dynamicconfig.EventsCacheMaxSizeBytes.Key():      128 << 10, // per shard, as stored; several times that in memory
		// Caches writes for replication to other clusters, of which there are none.
		dynamicconfig.XDCCacheMaxSizeBytes.Key(): 64 << 10,
		// Idle goroutines with a stack each: by default 512 per kind.
		dynamicconfig.TransferProcessorSchedulerWorkerCount.Key():   64,
		dynamicconfig.TimerProcessorSchedulerWorkerCount.Key():      64,
		dynamicconfig.VisibilityProcessorSchedulerWorkerCount.Key(): 32,
		// Another 640 of them for replication.
		dynamicconfig.ReplicationProcessorSchedulerWorkerCount.Key():            1,
		dynamicconfig.ReplicationLowPriorityProcessorSchedulerWorkerCount.Key(): 1,
	}
}

// features are what Windlass depends on; all but fairness are defaults in this version of the server.
func features() map[dynamicconfig.Key]any {
	return map[dynamicconfig.Key]any{
		// Tasks that wait in a queue are handed out in turn to the tenants, whose names are fairness keys.
		dynamicconfig.MatchingEnableFairness.Key():                             true,
		dynamicconfig.EnableEagerWorkflowStart.Key():                           true,
		dynamicconfig.EnableActivityEagerExecution.Key():                       true,
		dynamicconfig.FrontendEnableUpdateWorkflowExecution.Key():              true,
		dynamicconfig.FrontendEnableUpdateWorkflowExecutionAsyncAccepted.Key(): true,
	}
}
