package admin_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/contain"
	"github.com/graspd/graspd/internal/operate/admin"
)

// TestAFaultIsAProblem: for a day after the last one.
func TestAFaultIsAProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := here
		c.Faults = contain.New(nil, nil)
		told := func() []string {
			t.Helper()
			var p admin.Problems
			if err := json.Unmarshal(get(t, c, "GET", "/problems.json").Body.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			return p.Problems
		}
		if p := told(); len(p) != 0 {
			t.Errorf("without a fault: %q", p)
		}
		c.Faults.Do("wss://other.example.net", func() { panic("secret") })
		time.Sleep(24*time.Hour - 1)
		p := told()
		if len(p) != 1 || !strings.HasPrefix(p[0], "1 fault in graspd") || !strings.Contains(p[0], "wss://other.example.net: panic of type string at github.com/graspd/graspd/internal/operate/admin_test.") ||
			strings.Contains(p[0], "secret") {
			t.Errorf("%q", p)
		}
		if time.Sleep(time.Nanosecond); len(told()) != 0 {
			t.Errorf("a day later: %q", told())
		}
	})
}
