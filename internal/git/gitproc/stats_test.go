package gitproc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/histogram"
	"github.com/graspd/graspd/internal/git/gitproc"
)

// TestAFreshProgramHasDoneNothing: the trials of the program at the start are in no figure.
func TestAFreshProgramHasDoneNothing(t *testing.T) {
	g := open(t, gitproc.Config{})
	for _, kind := range gitproc.Kinds() {
		if st := g.Stats(kind); st != (gitproc.Stats{}) {
			t.Errorf("%s: %+v", kind, st)
		}
	}
}

// TestHowLongSlotsAreWaitedFor: who gets a slot counts, with the time until then; who leaves before does not.
func TestHowLongSlotsAreWaitedFor(t *testing.T) {
	g := open(t, gitproc.Config{Program: script(t, `echo begun; read x; exit 0`)})
	in := make(chan struct{})
	begun, ended := make(chan struct{}), make(chan error)
	run := gitproc.Run{Kind: gitproc.Maintenance, In: reader(func([]byte) (int, error) { <-in; return 0, errors.New("over") }),
		Out: writer(func(b []byte) (int, error) { close(begun); return len(b), nil })}
	go func() { ended <- g.Run(t.Context(), gitproc.Reach(), run) }()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := g.Run(ctx, gitproc.Reach(), gitproc.Run{Kind: gitproc.Maintenance}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	go func() { ended <- g.Run(t.Context(), gitproc.Reach(), gitproc.Run{Kind: gitproc.Maintenance}) }()
	for g.Stats(gitproc.Maintenance).Queued == 0 {
		time.Sleep(time.Millisecond)
	}
	const least = 30 * time.Millisecond
	time.Sleep(least)
	close(in)
	<-ended
	<-ended
	st := g.Stats(gitproc.Maintenance)
	n, late := uint64(0), uint64(0)
	for class, k := range st.Waited.Classes {
		if n += k; class > 1 { // above 10 ms
			late += k
		}
	}
	if n != 2 || late < 1 || st.Waited.Sum < least {
		t.Errorf("%d waited, %d of them long, %s in all", n, late, st.Waited.Sum)
	}
	if st := g.Stats(gitproc.Upload); st.Waited != (histogram.Counts{}) {
		t.Errorf("others: %+v", st.Waited)
	}
}

type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }
