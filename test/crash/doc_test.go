// Package crash kills the processes of a real mesh in mid-turn and checks what users are promised: the turn ends once, no watcher
// misses or repeats an event, no ONCE tool acts twice.
package crash
