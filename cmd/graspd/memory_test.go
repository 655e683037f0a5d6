package main

import (
	"runtime/debug"
	"testing"
)

func TestTheOperatorsGOGCStays(t *testing.T) {
	was := debug.SetGCPercent(123)
	defer debug.SetGCPercent(was)
	boundGarbage(func(name string) (string, bool) { return "200", name == "GOGC" })
	if got := debug.SetGCPercent(123); got != 123 {
		t.Errorf("GOGC is set, and becomes %d", got)
	}
	boundGarbage(func(string) (string, bool) { return "", false })
	if got := debug.SetGCPercent(123); got != garbagePercent {
		t.Errorf("GOGC is not set, and becomes %d", got)
	}
}
