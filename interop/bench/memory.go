package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
)

var scaled = regexp.MustCompile(`memory: ([\d.]+) MB for what is wanted, ([\d.]+) MB for the peers`)

// memory is (f): the engine on its own, and whole processes, in two worlds.
func (w *world) memory(ctx context.Context) error {
	if w.engine {
		w.say("the engine on its own")
		out, err := w.measure(ctx, "-run", "^TestScale$", "-v", "-timeout", "30m", "-args", "-scale")
		if err != nil {
			return err
		}
		engine, err := engines(out)
		if err != nil {
			return err
		}
		w.addMemory("engine", engine[0], engine[1], 10)
	}
	var now, most [2]int64
	for i, relays := range []int{100, 500} {
		n := w.options.events
		if i == 1 {
			n = w.million()
		}
		var err error
		if now[i], most[i], err = w.connectedTo(ctx, n, relays); err != nil {
			return err
		}
	}
	w.addMemory("process", float64(now[0])/1e6, float64(now[1])/1e6, 200)
	w.addMemory("process, the most while it connected", float64(most[0])/1e6, float64(most[1])/1e6, 0)
	w.report.note("The engine in %s and in %s (`peer.TestScale`). The processes hold %d and %d events, and have compared everything with as many relays, which have nothing. Their events have no signatures and were written straight into the store.",
		smallTown, largeTown, w.options.events, w.million())
	return nil
}

func (w *world) addMemory(what string, small, large, target float64) {
	mb := func(x float64) string { return fmt.Sprintf("%.1f MB", x) }
	l := line{what: what + ", first size", measured: mb(small)}
	if target > 0 {
		l.target, l.met = fmt.Sprintf("≤ %g MB", target), small <= target
	}
	w.report.add(l)
	w.report.add(line{what: what + ", second size", measured: mb(large), against: "first size: " + mb(small), ratio: large / small})
}

// engines reads the memory of the engine at both sizes, in MB.
func engines(out []byte) ([]float64, error) {
	var sums []float64
	for _, m := range scaled.FindAllSubmatch(out, -1) {
		sum := 0.0
		for _, x := range m[1:] {
			mb, err := strconv.ParseFloat(string(x), 64)
			if err != nil {
				return nil, err
			}
			sum += mb * 1.048576 // there it is 2 to the 20th
		}
		sums = append(sums, sum)
	}
	if len(sums) != 2 {
		return nil, fmt.Errorf("the test does not tell both sizes:\n%s", out)
	}
	return sums, nil
}

// connectedTo is the memory of a process on that many relays, when it has settled and at most until then.
func (w *world) connectedTo(ctx context.Context, n, relays int) (now, most int64, err error) {
	data, err := w.unsigned(ctx, n, relays)
	if err != nil {
		return 0, 0, err
	}
	w.say("connecting to %d relays", relays)
	g, err := w.graspd(ctx, data, "--sync-allow-private")
	if err != nil {
		return 0, 0, err
	}
	waiting, cancel := patience(ctx)
	defer cancel()
	known, calm := 0, time.Now() // all is as it was since then
	err = g.until(waiting, time.Second, func(s admin.Status) bool {
		if len(s.Sync.Relays) != known || !settled(s) {
			known, calm = len(s.Sync.Relays), time.Now()
		}
		return known > 0 && time.Since(calm) > 30*time.Second // what is no longer needed has gone back to the system
	})
	if err != nil {
		return 0, 0, err
	}
	now, most = g.size("VmRSS"), g.size("VmHWM")
	return now, most, g.stop()
}

// million is how many events make the second size.
func (w *world) million() int { return w.options.events / 3 * 20 }

// standIns are those that unsigned events name.
func (w *world) standIns() *relays {
	if w.town == nil {
		w.town = newRelays(500)
		w.closers = append(w.closers, w.town.close)
	}
	return w.town
}

// unsigned is a data directory with n events whose repositories each name five of so many relays. They are written straight into the store.
func (w *world) unsigned(ctx context.Context, n, relays int) (string, error) {
	if dir := w.towns[n]; dir != "" {
		return dir, nil
	}
	w.say("writing %d unsigned events", n)
	o := shape(n, n == w.million())
	o.Relays, o.RelaysEach, o.Sign = w.standIns().urls[:relays], 5, unsigned
	dir := w.path(fmt.Sprint("unsigned-", n))
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	if err := write(ctx, dir, o); err != nil {
		return "", err
	}
	w.towns[n] = dir
	return dir, nil
}
