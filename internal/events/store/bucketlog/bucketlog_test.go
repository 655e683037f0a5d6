package bucketlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
	"github.com/graspd/graspd/internal/events/store/logtest"
	"github.com/graspd/graspd/internal/test/testkit/lives"
)

func TestContract(t *testing.T) {
	logtest.Contract(t, func(testing.TB) commitlog.Log { return bucketlog.New(new(objecttest.Memory)) })
}

// TestContractWithLateRequests: a request that comes once more, whenever that is, changes nothing.
func TestContractWithLateRequests(t *testing.T) {
	seed := uint64(0)
	for range 2 {
		logtest.Contract(t, func(testing.TB) commitlog.Log {
			seed++
			fault := objecttest.Random(seed, 0)
			return bucketlog.New(&objecttest.Memory{Fault: func(q objecttest.Request) objecttest.Fault {
				return objecttest.Fault{Again: fault(q).Again}
			}})
		})
	}
}

// TestNodesOnABucketThatMisbehaves: whatever becomes of requests, there is one history, whoever heard OK finds it there, and a reader sees it
// from its beginning on.
func TestNodesOnABucketThatMisbehaves(t *testing.T) {
	deposed := 0
	n := lives.Of(100, 300)
	for seed := range n {
		synctest.Test(t, func(t *testing.T) {
			bucket := &objecttest.Memory{Fault: objecttest.Random(seed, 20*time.Millisecond), ListsLate: int(seed % 3)}
			ctx, end := context.WithCancel(t.Context())
			seen := make(chan []commitlog.Entry)
			go follow(ctx, t, bucketlog.New(bucket), seen)
			nodes := logtest.Nodes{Seed: seed, Count: 3, Commits: 4, Freeze: time.Minute}
			nodes.Run(t, func() commitlog.Log { return bucketlog.New(bucket) })
			time.Sleep(5 * time.Minute) // for the reader
			end()
			read := <-seen
			bucket.Deliver()
			bucket.Fault = nil
			all := nodes.Check(t, bucketlog.New(bucket))
			deposed += 3*4 - len(all)
			if len(read) != len(all) {
				t.Errorf("seed %d: a reader saw %d of %d entries", seed, len(read), len(all))
			}
			for i, e := range read {
				if e.Chain != all[i].Chain || !bytes.Equal(e.Body, all[i].Body) {
					t.Errorf("seed %d: a reader saw another entry %d", seed, i+1)
				}
			}
		})
	}
	if deposed < int(n)*2 {
		t.Errorf("only %d commits met another's", deposed)
	}
}

// follow reads a log until ctx ends.
func follow(ctx context.Context, t *testing.T, l *bucketlog.Log, seen chan<- []commitlog.Entry) {
	var all []commitlog.Entry
	for r := l.From(0, commitlog.Chain{}); ; {
		e, err := r.Next(ctx)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, commitlog.ErrGap) || errors.Is(err, commitlog.ErrHistory) || errors.Is(err, commitlog.ErrNone) {
			t.Error(err)
		}
		if err == nil {
			all = append(all, e)
		}
	}
	seen <- all
}

// written is a log of so many entries in a bucket, and the moments before and after each.
func written(t testing.TB, n int) (bucket *objecttest.Memory, all []commitlog.Entry, moments []objecttest.Moment) {
	t.Helper()
	bucket = new(objecttest.Memory)
	var chain commitlog.Chain
	for i := range n {
		moments = append(moments, bucket.Moment())
		e := commitlog.NewEntry(commitlog.Position(i+1), chain, fmt.Append(nil, "commit ", i))
		put(t, bucket, e, chain)
		all, chain = append(all, e), e.Chain
	}
	return bucket, all, append(moments, bucket.Moment())
}

// next is the next entry of a reader that has some hours for it.
func next(t testing.TB, r *bucketlog.Reader) (commitlog.Entry, error) {
	ctx, over := context.WithTimeout(t.Context(), 3*time.Hour)
	defer over()
	return r.Next(ctx)
}

func put(t testing.TB, bucket objects.Store, e commitlog.Entry, before commitlog.Chain) {
	t.Helper()
	if r, err := bucketlog.New(bucket).Append(t.Context(), e.At, before, e.Body); r != commitlog.Done || err != nil {
		t.Fatal(r, err)
	}
}

// remove removes the entries up to a position.
func remove(t testing.TB, bucket objects.Store, upTo int) {
	t.Helper()
	for at := 1; at <= upTo; at++ {
		if err := bucket.Delete(t.Context(), fmt.Sprintf("log/%020d", at)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAReaderIsToldOfAGap: where a log has lost its beginning, a reader goes on only if it has read all of that.
func TestAReaderIsToldOfAGap(t *testing.T) {
	for from := range 6 {
		synctest.Test(t, func(t *testing.T) {
			bucket, all, _ := written(t, 6)
			remove(t, bucket, 3)
			log := bucketlog.New(bucket)
			var chain commitlog.Chain
			if from > 0 {
				chain = all[from-1].Chain
			}
			e, err := next(t, log.From(commitlog.Position(from), chain))
			if from < 3 && !errors.Is(err, commitlog.ErrGap) || from >= 3 && (err != nil || e.Chain != all[from].Chain) {
				t.Errorf("after %d: %v, %v", from, e, err)
			}
			if _, err := log.Read(t.Context(), commitlog.Position(from+1)); from < 3 && !errors.Is(err, commitlog.ErrGap) || from >= 3 && err != nil {
				t.Errorf("read %d: %v", from+1, err)
			}
		})
	}
}

// TestAReaderIsToldOfASetBack: within two minutes, although nothing is written any more; and at once where it begins.
func TestAReaderIsToldOfASetBack(t *testing.T) {
	for _, other := range []int{0, 1, 2} { // entries of another history, after it was set back by two
		synctest.Test(t, func(t *testing.T) {
			bucket, all, moments := written(t, 6)
			r := bucketlog.New(bucket).From(4, all[3].Chain)
			for _, want := range all[4:] {
				if e, err := next(t, r); err != nil || e.Chain != want.Chain {
					t.Fatal(e, err)
				}
			}
			time.AfterFunc(time.Hour, func() {
				bucket.SetBack(moments[4])
				chain := all[3].Chain
				for i := range other {
					e := commitlog.NewEntry(commitlog.Position(5+i), chain, []byte("other"))
					put(t, bucket, e, chain)
					chain = e.Chain
				}
			})
			begun := time.Now()
			e, err := next(t, r)
			if took := time.Since(begun); !errors.Is(err, commitlog.ErrHistory) || took < time.Hour || took > time.Hour+2*time.Minute {
				t.Errorf("with %d others: %v, %v after %v", other, e, err, took)
			}
			begun = time.Now()
			if e, err := next(t, r); !errors.Is(err, commitlog.ErrHistory) || time.Since(begun) > 2*time.Second {
				t.Errorf("with %d others, once more: %v, %v", other, e, err)
			}
			if e, err := next(t, bucketlog.New(bucket).From(6, all[5].Chain)); !errors.Is(err, commitlog.ErrHistory) {
				t.Errorf("with %d others, from the beginning: %v, %v", other, e, err)
			}
		})
	}
}

// TestAReaderThatHasReadWhatIsRemoved goes on: also where all that it has read is gone.
func TestAReaderThatHasReadWhatIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket, all, _ := written(t, 3)
		r := bucketlog.New(bucket).From(3, all[2].Chain)
		fourth := commitlog.NewEntry(4, all[2].Chain, []byte("next"))
		time.AfterFunc(10*time.Minute+time.Millisecond, func() {
			put(t, bucket, fourth, all[2].Chain)
			remove(t, bucket, 3)
		})
		if e, err := next(t, r); err != nil || e.Chain != fourth.Chain {
			t.Error(e, err)
		}
	})
}

// busy is a store in which something is done before each list.
type busy struct {
	objects.Store
	do func()
}

// List implements objects.Store.
func (b busy) List(ctx context.Context, prefix, after string, most int) ([]objects.Info, error) {
	b.do()
	return b.Store.List(ctx, prefix, after, most)
}

// TestWhatComesMeanwhileIsNoGap: entries that come after one asked for the next, and before one asks for those after it.
func TestWhatComesMeanwhileIsNoGap(t *testing.T) {
	for _, read := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bucket, all, _ := written(t, 1)
			chain := all[0].Chain
			log := bucketlog.New(busy{bucket, func() {
				for at := commitlog.Position(2); at < 5; at++ {
					e := commitlog.NewEntry(at, chain, []byte("x"))
					put(t, bucket, e, chain)
					chain = e.Chain
				}
			}})
			r := log.From(1, all[0].Chain)
			ask := func() (commitlog.Entry, error) { return next(t, r) }
			if read {
				ask = func() (commitlog.Entry, error) { return log.Read(t.Context(), 2) }
			}
			e, err := ask()
			if err != nil || e.At != 2 {
				t.Errorf("%d, %v", e.At, err)
			}
		})
	}
}

// TestHowOftenAReaderAsks: an entry is seen within 250 ms where others came lately, within a second at rest, and an hour of rest costs little
// more than a request each second.
func TestHowOftenAReaderAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket, all, _ := written(t, 2)
		asked := map[string]int{}
		bucket.Fault = func(q objecttest.Request) objecttest.Fault { asked[q.Op]++; return objecttest.Fault{} }
		r := bucketlog.New(bucket).From(0, commitlog.Chain{})
		for range 2 {
			if _, err := next(t, r); err != nil {
				t.Fatal(err)
			}
		}
		chain := all[1].Chain
		for i, c := range []struct{ after, within time.Duration }{{0, 250 * time.Millisecond}, {time.Second, 250 * time.Millisecond}, {4 * time.Second, 250 * time.Millisecond}, {time.Hour, time.Second}, {time.Second, 250 * time.Millisecond}} {
			due := time.Now().Add(c.after + 10*time.Millisecond)
			e := commitlog.NewEntry(commitlog.Position(3+i), chain, []byte("more"))
			time.AfterFunc(time.Until(due), func() { put(t, bucket, e, chain) })
			if got, err := next(t, r); err != nil || got.Chain != e.Chain || time.Since(due) > c.within {
				t.Errorf("%d: %v, %v, %v late", i, got.At, err, time.Since(due))
			}
			chain = e.Chain
		}
		if asked["get"] > 3600+200 || asked["get"] < 3600 || asked["list"] > 70 || asked["list"] < 60 {
			t.Errorf("%v", asked)
		}
	})
}

// TestAReaderThatIsFarBehind asks for up to 16 entries at once, gives them in order although some requests fail, and asks for one at the end.
func TestAReaderThatIsFarBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, delay = 1000, 30 * time.Millisecond
		bucket, all, _ := written(t, n)
		var mu sync.Mutex
		asked, least := map[time.Time]int{}, n // requests by when they were made
		bucket.Fault = func(objecttest.Request) objecttest.Fault {
			mu.Lock()
			defer mu.Unlock()
			asked[time.Now()]++
			return objecttest.Fault{Delay: delay, Lost: len(asked)%20 == 0 && asked[time.Now()] == 3}
		}
		r := bucketlog.New(bucket).From(0, commitlog.Chain{})
		begun := time.Now()
		for _, want := range all {
			e, err := next(t, r)
			for tries := 0; err != nil && tries < 10; tries++ {
				e, err = next(t, r)
			}
			if e.Chain != want.Chain || !bytes.Equal(e.Body, want.Body) {
				t.Fatalf("entry %d: %d", want.At, e.At)
			}
		}
		took, most := time.Since(begun), 0
		for _, k := range asked {
			most, least = max(most, k), min(least, k)
		}
		if took > n*delay/8 || most != 16 || least != 1 {
			t.Errorf("%d entries took %v, up to %d at once", n, took, most)
		}
		clear(asked)
		ctx, end := context.WithTimeout(t.Context(), 10*time.Minute)
		defer end()
		if _, err := r.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		alone := 0
		for _, k := range asked {
			if k == 1 {
				alone++
			}
		}
		if alone < len(asked)-1 || len(asked) < 500 {
			t.Errorf("at the end %d of %d requests were made alone", alone, len(asked))
		}
	})
}

// TestAReaderOfABucketThatIsAway says so each time, not more often than four times a second, and goes on.
func TestAReaderOfABucketThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bucket, all, _ := written(t, 3)
		begun := time.Now()
		bucket.Fault = func(objecttest.Request) objecttest.Fault {
			return objecttest.Fault{Lost: time.Since(begun) < time.Minute}
		}
		r := bucketlog.New(bucket).From(1, all[0].Chain)
		failed := 0
		for {
			e, err := next(t, r)
			if err == nil {
				if e.Chain != all[1].Chain || time.Since(begun) > 61*time.Second {
					t.Errorf("%v after %v", e.At, time.Since(begun))
				}
				break
			}
			if failed++; failed > 1000 {
				break
			}
		}
		if failed < 60 || failed > 90 {
			t.Errorf("it failed %d times in a minute", failed)
		}
	})
}

// deaf is a store that does not answer.
type deaf struct{ objects.Store }

// Put implements objects.Store.
func (deaf) Put(ctx context.Context, _ string, _ objects.Body) (objects.Outcome, error) {
	<-ctx.Done()
	return objects.Unknown, context.Cause(ctx)
}

// Get implements objects.Store.
func (deaf) Get(ctx context.Context, _ string, _ int64, _ int) ([]byte, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestNoRequestWaitsForEver: without an answer a request ends, whatever context it has; more bytes have more time.
func TestNoRequestWaitsForEver(t *testing.T) {
	for size, want := range map[int]time.Duration{0: 10 * time.Second, 1000: 10 * time.Second, 4 << 20: 20 * time.Second, 64 << 20: 170 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			if r, err := bucketlog.New(deaf{}).Append(context.Background(), 1, commitlog.Chain{}, make([]byte, size)); r != commitlog.Unknown || err == nil || !strings.Contains(err.Error(), "has not answered in time") || time.Since(begun) != want {
				t.Errorf("%d bytes: %v, %v after %v", size, r, err, time.Since(begun))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if _, err := bucketlog.New(deaf{}).Read(context.Background(), 1); err == nil || errors.Is(err, commitlog.ErrNone) || time.Since(begun) != 10*time.Second {
			t.Errorf("read: %v after %v", err, time.Since(begun))
		}
		log := bucketlog.New(deaf{})
		time.AfterFunc(time.Minute, log.Close)
		e := commitlog.NewEntry(1, commitlog.Chain{}, nil)
		begun = time.Now()
		ctx, over := context.WithTimeout(context.Background(), time.Hour)
		defer over()
		if err := commitlog.Settle(ctx, log, e, commitlog.Chain{}); !errors.Is(err, commitlog.ErrClosed) || time.Since(begun) > time.Minute+12*time.Second {
			t.Errorf("after it was closed: %v after %v", err, time.Since(begun))
		}
	})
}

// TestEntriesOfEverySize: an entry that ends with a piece, and the largest.
func TestEntriesOfEverySize(t *testing.T) {
	bucket := new(objecttest.Memory)
	log := bucketlog.New(bucket)
	for i, size := range []int{0, 4<<20 - 33, 4<<20 - 32, 4<<20 - 31, 8<<20 - 32, 65 << 20} {
		body := bytes.Repeat([]byte{byte(i), 1}, size/2+1)[:size]
		at := commitlog.Position(i + 1)
		put(t, bucket, commitlog.Entry{At: at, Body: body}, commitlog.Chain{})
		e, err := log.Read(t.Context(), at)
		if size <= commitlog.MaxSize && (err != nil || !bytes.Equal(e.Body, body)) || size > commitlog.MaxSize && !errors.Is(err, commitlog.ErrDamaged) {
			t.Errorf("%d bytes: %d, %v", size, len(e.Body), err)
		}
	}
}

func TestWhatIsNoLogIsNotRead(t *testing.T) {
	for name, want := range map[string]error{
		"log/00000000000000000002":   commitlog.ErrGap,
		"log/2":                      commitlog.ErrDamaged,
		"log/0000000000000000000a":   commitlog.ErrDamaged,
		"log/99999999999999999999":   commitlog.ErrDamaged,
		"log/000000000000000000019":  commitlog.ErrDamaged,
		"log/00000000000000000001":   commitlog.ErrDamaged, // too short
		"loh":                        commitlog.ErrNone,
		"other/00000000000000000009": commitlog.ErrNone,
	} {
		bucket := new(objecttest.Memory)
		if _, err := bucket.Put(t.Context(), name, strings.NewReader("no entry")); err != nil {
			t.Fatal(err)
		}
		if e, err := bucketlog.New(bucket).Read(t.Context(), 1); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
}
