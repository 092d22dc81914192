module github.com/windlass-dev/windlass/tools/pgo

go 1.26.7

require github.com/google/pprof v0.0.0-20260802141513-ef3492d7dac3
