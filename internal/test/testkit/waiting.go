package testkit

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
)

// RunWaiting runs tests of which most wait, for processes and for relays: eight of those that are parallel at once, unless -parallel says another
// number. It returns the exit code.
func RunWaiting(m *testing.M) int {
	if flag.Parse(); flag.Lookup("test.parallel").Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "8") // it is a number
	}
	return m.Run()
}
