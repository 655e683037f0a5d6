package kv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	engine "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/prometheus/client_golang/prometheus"
)

// logNumber is that of the logs written here.
const logNumber = 7

// written is a log as the engine writes it, and where each record ends. With sync, each record was durable before the
// next one was begun; without, none was before the last.
type written struct {
	b    []byte
	ends []int
}

// disk takes what is written and calls it durable.
type disk struct{ bytes.Buffer }

func (*disk) Sync() error { return nil }

func engineLog(t testing.TB, sync, closed bool, records ...[]byte) (l written) {
	t.Helper()
	return numbered(t, logNumber, sync, closed, records...)
}

func numbered(t testing.TB, number uint64, synced, closed bool, records ...[]byte) (l written) {
	t.Helper()
	var d disk
	c := engine.LogWriterConfig{
		WALFsyncLatency:     prometheus.NewHistogram(prometheus.HistogramOpts{}),
		QueueSemChan:        make(chan struct{}, len(records)+1),
		WriteWALSyncOffsets: func() bool { return true },
	}
	w := engine.NewLogWriter(&d, 7, c)
	if number != logNumber {
		w = engine.NewLogWriter(&d, 3, c)
	}
	for _, r := range records {
		var done sync.WaitGroup
		var failed error
		var end int64
		var err error
		if synced {
			done.Add(1)
			c.QueueSemChan <- struct{}{}
			end, err = w.SyncRecord(r, &done, &failed)
			done.Wait()
		} else {
			end, err = w.WriteRecord(r)
		}
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		l.ends = append(l.ends, int(end))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if l.b = d.Bytes(); !closed {
		l.b = l.b[:l.ends[len(l.ends)-1]]
	}
	return l
}

// walked is what a walk finds.
func walked(t testing.TB, b []byte) (records [][]byte, damaged []int) {
	t.Helper()
	w := walFile{b: b, number: logNumber}
	damaged, err := w.each(func(r []byte) error { records = append(records, bytes.Clone(r)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return records, damaged
}

// texts are records of these lengths, all different.
func texts(lengths ...int) (records [][]byte) {
	for i, n := range lengths {
		r := bytes.Repeat([]byte{byte('a' + i%20)}, n)
		records = append(records, append(r, fmt.Sprint(i)...))
	}
	return records
}

// without leaves one out.
func without(all [][]byte, i int) [][]byte { return slices.Delete(slices.Clone(all), i, i+1) }

func same(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// lengths that end before, at and behind the end of a block, and go over several.
var lengths = []int{1, 500, walBlock - walSyncHeader - 1, 10, walBlock - 600, 3 * walBlock, 5, walBlock - 25, 40, 2*walBlock - 2*walSyncHeader, 7}

func TestLogWalk(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 20 {
		some := lengths
		if i > 0 {
			some = nil
			for range 1 + r.IntN(8) {
				some = append(some, r.IntN(walBlock*3/2))
			}
		}
		all := texts(some...)
		for _, sync := range []bool{true, false} {
			for _, closed := range []bool{true, false} {
				l := engineLog(t, sync, closed, all...)
				if got, damaged := walked(t, l.b); !same(got, all) || damaged != nil {
					t.Errorf("lengths %v, sync %v, closed %v: %d of %d records, damaged at %v", some, sync, closed, len(got), len(all), damaged)
				}
			}
		}
	}
}

// TestLogWalkOfATornEnd: wherever a crash cut the writing off, what is whole before it is there, and nothing is damaged:
// whether the file ends there, is empty from there, or has there what an older log left.
func TestLogWalkOfATornEnd(t *testing.T) {
	all := texts(lengths...)
	l := engineLog(t, true, false, all...)
	old := numbered(t, 3, true, false, texts(walBlock, 700, 9*walBlock, 30, 4*walBlock)...).b
	for i, end := range l.ends {
		begin := 0
		if i > 0 {
			begin = l.ends[i-1]
		}
		for _, at := range []int{begin, begin + 1, begin + walSyncHeader, (begin + end) / 2, end - 1} {
			for name, tail := range map[string][]byte{"end": nil, "zeros": make([]byte, walBlock), "an older log": old[at:min(len(old), at+2*walBlock)]} {
				if got, damaged := walked(t, append(bytes.Clone(l.b[:at]), tail...)); !same(got, all[:i]) || damaged != nil {
					t.Errorf("cut at %d, in record %d, then %s: %d records, damaged at %v", at, i, name, len(got), damaged)
				}
			}
		}
	}
}

// TestLogWalkOfDamage: what was durable and cannot be read is told, and costs no other record.
func TestLogWalkOfDamage(t *testing.T) {
	all := texts(lengths...)
	last := len(all) - 1
	for _, closed := range []bool{true, false} {
		l := engineLog(t, true, closed, all...)
		for i, end := range l.ends {
			begin := 0
			if i > 0 {
				begin = l.ends[i-1]
			}
			for _, at := range []int{begin, begin + 4, begin + 6, begin + 8, begin + walSyncHeader, (begin + end) / 2, end - 1} {
				b := bytes.Clone(l.b)
				b[at] ^= 0x10
				got, damaged := walked(t, b)
				// Of the last two, a crash may have kept one from the disk that was written before the other.
				if want := closed || i < last-1; i != last-1 && (len(damaged) == 1) != want || want && (damaged[0] > at || damaged[0] < begin) {
					t.Errorf("closed %v, byte %d of record %d (from %d): damaged at %v", closed, at, i, begin, damaged)
				}
				if !same(got, without(all, i)) {
					t.Errorf("closed %v, byte %d of record %d: %d records", closed, at, i, len(got))
				}
			}
		}
	}
}

// TestLogWalkOfAnEmptyPlace: a page that reads as zeros is no end of a log where something follows.
func TestLogWalkOfAnEmptyPlace(t *testing.T) {
	all := texts(1000, 2000, walBlock-1000-2000-3*walSyncHeader-3, 50, 60, 70)
	l := engineLog(t, true, false, all...)
	if l.ends[2] != walBlock {
		t.Fatal(l.ends)
	}
	clear(l.b[l.ends[1]:l.ends[2]])
	if got, damaged := walked(t, l.b); !slices.Equal(damaged, l.ends[1:2]) || !same(got, without(all, 2)) {
		t.Errorf("%d records, damaged at %v of %v", len(got), damaged, l.ends)
	}
}

// TestLogWalkOfTheLastButOne: what the engine says to have been durable counts.
func TestLogWalkOfTheLastButOne(t *testing.T) {
	l := engineLog(t, true, false, texts(100, 100, 100)...)
	l.b[l.ends[1]-1] ^= 1
	if got, damaged := walked(t, l.b); !slices.Equal(damaged, l.ends[:1]) || len(got) != 2 {
		t.Errorf("damaged at %v of %v, %d records", damaged, l.ends, len(got))
	}
}

// TestLogWalkOfALogThatIsBeingClosed: a commit for which the engine closes the log may be lost with the power though the
// end of the log is not. What has a commit behind it, or another log, was durable.
func TestLogWalkOfALogThatIsBeingClosed(t *testing.T) {
	for _, newest := range []bool{true, false} {
		for i, begin := range []int{0, 520} {
			l := engineLog(t, false, true, texts(500, 40_000)...)
			clear(l.b[begin : begin+100])
			w := walFile{b: l.b, number: logNumber, newest: newest}
			damaged, err := w.each(func([]byte) error { return nil })
			if want := i == 0 || !newest; err != nil || (len(damaged) > 0) != want {
				t.Errorf("newest %v, record %d: damaged at %v, %v", newest, i, damaged, err)
			}
		}
	}
}

// TestLogWalkOverAnOlderLog: what an older log holds is not taken for the end of the one that was written over it, whatever it says.
func TestLogWalkOverAnOlderLog(t *testing.T) {
	end := append(make([]byte, 6), walFull, logNumber+1, 0, 0, 0)
	old := numbered(t, 3, true, true, bytes.Repeat(end, 20), bytes.Repeat(end, 20), bytes.Repeat(end, 20))
	l := engineLog(t, true, false, texts(len(end)*20-1)...) // the same length, with its number
	w := walFile{b: append(bytes.Clone(l.b), old.b[l.ends[0]:]...), number: logNumber}
	n := 0
	damaged, err := w.each(func([]byte) error { n++; return nil })
	if err != nil || damaged != nil || n != 1 || l.ends[0] != old.ends[0] {
		t.Errorf("%d records, damaged at %v, %v", n, damaged, err)
	}
}

// TestLogWalkOfManyDamages tells each place.
func TestLogWalkOfManyDamages(t *testing.T) {
	all := texts(100, 100, 100, 100, 100, 100)
	l := engineLog(t, true, true, all...)
	for _, i := range []int{1, 3} {
		l.b[l.ends[i]-1] ^= 1
	}
	if got, damaged := walked(t, l.b); !slices.Equal(damaged, []int{l.ends[0], l.ends[2]}) || len(got) != 4 {
		t.Errorf("damaged at %v of %v, %d records", damaged, l.ends, len(got))
	}
}

// TestLogWalkOfWhatWasNotDurable: a hole before records that were written, but not yet durable, is what a crash may leave.
func TestLogWalkOfWhatWasNotDurable(t *testing.T) {
	l := engineLog(t, false, false, texts(100, 100)...)
	l.b[30] ^= 1
	if _, damaged := walked(t, l.b); damaged != nil {
		t.Errorf("damaged at %v", damaged)
	}
	// The same where all up to the hole, and nothing of it, was durable.
	l = engineLog(t, true, false, texts(100)...)
	rest := engineLog(t, false, false, texts(100, 100)...)
	for i, at := range []int{0, rest.ends[0]} {
		header := rest.b[at:rest.ends[i]]
		header[walHeader] = byte(len(l.b))
		sum := walSum(header[6:])
		header[0], header[1], header[2], header[3] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
	}
	rest.b[30] ^= 1
	if got, damaged := walked(t, append(l.b, rest.b...)); damaged != nil || len(got) != 2 {
		t.Errorf("%d records, damaged at %v", len(got), damaged)
	}
}

// TestLogWalkOfWhatNobodySynced: where commits do not wait for the disk, only what the engine says, and the end of a log that another one follows,
// tell that a place was durable.
func TestLogWalkOfWhatNobodySynced(t *testing.T) {
	for _, closed := range []bool{true, false} {
		for _, newest := range []bool{true, false} {
			l := engineLog(t, false, closed, texts(100, 100, 100, 100, 100)...)
			l.b[30] ^= 1
			w := walFile{b: l.b, number: logNumber, newest: newest, unsynced: true}
			damaged, err := w.each(func([]byte) error { return nil })
			if want := closed && !newest; err != nil || (len(damaged) > 0) != want {
				t.Errorf("closed %v, newest %v: damaged at %v, %v", closed, newest, damaged, err)
			}
		}
	}
	l := engineLog(t, true, false, texts(100, 100, 100)...)
	l.b[30] ^= 1
	w := walFile{b: l.b, number: logNumber, newest: true, unsynced: true}
	if damaged, err := w.each(func([]byte) error { return nil }); err != nil || len(damaged) != 1 {
		t.Errorf("what the engine says to have been durable: damaged at %v, %v", damaged, err)
	}
}

// TestLogWalkStops at what its caller says.
func TestLogWalkStops(t *testing.T) {
	l := engineLog(t, true, true, texts(1, 2, 3)...)
	stop, n := errors.New("stop"), 0
	w := walFile{b: l.b, number: logNumber}
	if _, err := w.each(func([]byte) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("%v after %d", err, n)
	}
}

// FuzzLogWalk: whatever stands in a log, the walk ends, and finds all that the engine itself reads of it.
func FuzzLogWalk(f *testing.F) {
	for _, closed := range []bool{true, false} {
		f.Add(engineLog(f, true, closed, texts(1, 40, 5)...).b, uint16(0), byte(0))
		f.Add(engineLog(f, false, closed, texts(3, 3)...).b, uint16(30), byte(1))
	}
	f.Add([]byte{}, uint16(0), byte(0))
	f.Add(make([]byte, 40), uint16(5), byte(walSyncFull))
	f.Fuzz(func(t *testing.T, b []byte, at uint16, flip byte) {
		if b = bytes.Clone(b); len(b) > 0 {
			b[int(at)%len(b)] ^= flip
		}
		got, damaged := walked(t, b)
		if !slices.IsSorted(damaged) || len(damaged) > 0 && damaged[len(damaged)-1] >= len(b) {
			t.Errorf("damaged at %v of %d", damaged, len(b))
		}
		want := engineReads(b)
		if len(got) < len(want) || !same(got[:len(want)], want) {
			t.Errorf("%q, the engine reads %q", got, want)
		}
		for _, r := range got {
			_ = eachVersion(r, func(Version) error { return nil })
		}
	})
}

func engineReads(b []byte) (records [][]byte) {
	r := engine.NewReader(bytes.NewReader(b), logNumber)
	for {
		one, err := r.Next()
		if err != nil {
			return records
		}
		text, err := io.ReadAll(one)
		if err != nil {
			return records
		}
		records = append(records, text)
	}
}

// TestDamagedLogsAreNamed goes through the files of a directory.
func TestDamagedLogsAreNamed(t *testing.T) {
	fs := vfs.NewMem()
	if err := fs.MkdirAll("data", 0o700); err != nil {
		t.Fatal(err)
	}
	l := engineLog(t, true, true, texts(100, 100)...)
	for name, change := range map[string]int{"000007.log": 40, "000007.sst": 50, "other": 60} {
		b := bytes.Clone(l.b)
		b[change] ^= 1
		if err := writeFile(fs, "data/"+name, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := CheckLogs(fs, "data", true); !errors.Is(err, ErrDamaged) || err.Error() != ErrDamaged.Error()+": data/000007.log: it cannot be read at byte 0" {
		t.Errorf("%v", err)
	}
	if err := TrimLogs(fs, "data"); err != nil {
		t.Fatal(err)
	}
	if err := CheckLogs(fs, "data", true); err != nil {
		t.Errorf("after it was cut: %v", err)
	}
}

// TestThePartsOfACommitAreNumbered: of two that are about one key the later has the higher number.
func TestThePartsOfACommitAreNumbered(t *testing.T) {
	var b pebble.Batch
	err := errors.Join(b.Set([]byte("k"), []byte("1"), nil), b.Delete([]byte("k"), nil), b.Set([]byte("k"), []byte("2"), nil))
	if err != nil {
		t.Fatal(err)
	}
	repr := bytes.Clone(b.Repr())
	batchrepr.SetSeqNum(repr, 7)
	var got []string
	err = eachVersion(repr, func(v Version) error {
		got = append(got, fmt.Sprintf("%s=%s %d %v", v.Key, v.Value, v.Number, v.Gone))
		return nil
	})
	if want := []string{"k=1 7 false", "k= 8 true", "k=2 9 false"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}
