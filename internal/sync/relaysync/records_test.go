package relaysync

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/base/backoff"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/peer/history"
)

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 123_000_000, time.UTC)
	full := history.Record{
		At: now, Failures: 17, FirstFailure: now.Add(-3 * time.Hour), NextAttempt: now.Add(time.Hour), LastAlive: now.Add(-4 * time.Hour),
		Revived: now.Add(-time.Hour), References: now.Add(5 * time.Hour), Uptime: backoff.Uptime{Connected: 90 * 24 * time.Hour, Not: 5 * time.Second},
		Alike: true, Cause: "dial tcp: connection refused",
	}
	for _, r := range []history.Record{{}, full, {At: now, LastAlive: time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC)}} {
		b := encodeRecord(r)
		got, err := decodeRecord(b)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(r) {
			t.Errorf("%+v became %+v, %v", r, got, err)
		}
		for n := range b {
			if _, err := decodeRecord(b[:n]); err == nil {
				t.Errorf("%d of %d bytes are taken", n, len(b))
			}
		}
		if _, err := decodeRecord(append(b, 0)); err == nil {
			t.Error("a byte too many is taken")
		}
		b[0]++
		if _, err := decodeRecord(b); err == nil {
			t.Error("another version is taken")
		}
		before := r
		before.Cause = ""
		b = b[:recordLen]
		b[0] = causeless
		if got, err := decodeRecord(b); err != nil || fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("%+v without a cause became %+v, %v", r, got, err)
		}
	}
	if got, err := decodeRecord(encodeRecord(history.Record{Cause: strings.Repeat("x", 1000)})); err != nil || len(got.Cause) > history.LongestCause {
		t.Errorf("a long cause: %d bytes, %v", len(got.Cause), err)
	}
	// Whatever the bytes, nothing absurd comes out of them.
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		b := encodeRecord(history.Record{})
		for i := 1; i < len(b); i++ {
			b[i] = byte(r.Uint32())
		}
		if got, err := decodeRecord(b); err == nil && (got.Failures < 0 || got.Uptime.Connected < 0 || got.Uptime.Not < 0 || got.Uptime.Connected+got.Uptime.Not < 0) {
			t.Fatalf("%+v", got)
		}
	}
}

func openStore(t *testing.T, fs vfs.FS, free *atomic.Uint64) *store.Store {
	t.Helper()
	s, err := store.Open(store.Options{Dir: "store", FS: fs, CacheBytes: 1 << 20, Floor: 1, FreeSpace: func() (uint64, error) { return free.Load(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newLedger(t *testing.T, s *store.Store, log *bytes.Buffer) *records {
	t.Helper()
	l, err := readRecords(s, peer.Defaults().Backoff(), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func nobody(grasp.RelayURL) bool { return false }

func relayNumber(n int) grasp.RelayURL {
	return grasp.RelayURL(fmt.Sprintf("wss://r%03d.example.net", n))
}

func TestTheLedgerForgetsThoseUnseenLongest(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 40)
	var log bytes.Buffer
	s := openStore(t, vfs.NewMem(), &free)
	l := newLedger(t, s, &log)
	if l.most != 10_000 {
		t.Errorf("%d records are kept", l.most)
	}
	l.most = 20
	at := func(n int) time.Time { return time.Unix(int64(1_800_000_000+n*7919%50), 0) } // in no order
	for n := range 50 {
		l.put(relayNumber(n), history.Record{At: at(n), Failures: n + 1, FirstFailure: at(n)})
	}
	l.keep()
	inUse := relayNumber(0) // the oldest of all
	l.trim(func(u grasp.RelayURL) bool { return u == inUse })
	l.keep()
	for range 2 {
		if len(l.byURL) != 20 || l.past(inUse).Failures != 1 {
			t.Errorf("%d records are left, %+v of one in use", len(l.byURL), l.past(inUse))
		}
		for n := 1; n < 50; n++ {
			if _, ok := l.byURL[relayNumber(n)]; ok != (at(n).Unix() > 1_800_000_030) {
				t.Errorf("relay of %d s: kept %v", at(n).Unix()-1_800_000_000, ok)
			}
		}
		l = newLedger(t, s, &log) // as the store has it
	}
	if notes, _ := s.Notes(); len(notes) != 20 {
		t.Errorf("the store has %d", len(notes))
	}
	l.put(relayNumber(49), history.Record{})
	l.most = 0
	l.trim(nobody)
	l.put(relayNumber(3), history.Record{Failures: 3})
	l.keep()
	if l = newLedger(t, s, &log); len(l.byURL) != 1 || l.past(relayNumber(3)).Failures != 3 {
		t.Errorf("%+v", l.byURL)
	}
	if log.Len() > 0 {
		t.Error(log.String())
	}
}

func TestTheLedgerWritesWhatTheStoreDidNotTakeBefore(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 40)
	var log bytes.Buffer
	s := openStore(t, vfs.NewMem(), &free)
	l := newLedger(t, s, &log)
	l.put(relayNumber(1), history.Record{Failures: 1})
	l.put(relayNumber(2), history.Record{Failures: 2})
	l.keep()
	free.Store(1)
	l.put(relayNumber(1), history.Record{Failures: 11})
	l.most = 1
	l.trim(func(u grasp.RelayURL) bool { return u != relayNumber(2) })
	for range 3 {
		l.keep()
	}
	if n := strings.Count(log.String(), "cannot be kept over"); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
	if again := newLedger(t, s, &log); len(again.byURL) != 2 || again.past(relayNumber(1)).Failures != 1 {
		t.Errorf("with a full disk: %+v", again.byURL)
	}
	free.Store(1 << 40)
	l.keep()
	if again := newLedger(t, s, &log); len(again.byURL) != 1 || again.past(relayNumber(1)).Failures != 11 {
		t.Errorf("with room again: %+v", again.byURL)
	}
	free.Store(1)
	l.put(relayNumber(1), history.Record{})
	l.keep()
	if n := strings.Count(log.String(), "cannot be kept over"); n != 2 {
		t.Errorf("full again, said %d times", n)
	}
}

func TestUnreadableRecordsBeginAnew(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 40)
	var log bytes.Buffer
	s := openStore(t, vfs.NewMem(), &free)
	newer := append([]byte{recordVersion + 1}, encodeRecord(history.Record{Failures: 9})...)
	err := s.KeepNotes(map[string][]byte{
		"relay wss://newer.example.net": newer, "relay wss://broken.example.net": nil, "other": []byte("not ours"),
		"relay wss://fine.example.net": encodeRecord(history.Record{Failures: 5}),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLedger(t, s, &log)
	if len(l.byURL) != 1 || l.past("wss://fine.example.net").Failures != 5 || strings.Count(log.String(), "begins anew") != 2 {
		t.Errorf("%+v\n%s", l.byURL, log.String())
	}
	l.keep()
	notes, err := s.Notes()
	if err != nil || len(notes) != 2 || string(notes["other"]) != "not ours" {
		t.Errorf("%q, %v", notes, err)
	}
}

// A new process tries a dead relay at once, and one that only fails when it is time.
func TestTheLedgerOfAnotherProcess(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 40)
	var log bytes.Buffer
	s := openStore(t, vfs.NewMem(), &free)
	now := time.Unix(1_800_000_000, 0).UTC()
	failing := history.Record{At: now, Failures: 30, FirstFailure: now.Add(-20 * time.Hour), NextAttempt: now.Add(time.Hour)}
	dead := history.Record{At: now, Failures: 60, FirstFailure: now.Add(-90 * time.Hour), NextAttempt: now.Add(20 * time.Hour)}
	l := newLedger(t, s, &log)
	l.put("wss://failing.example.net", failing)
	l.put("wss://dead.example.net", dead)
	l.keep()
	l = newLedger(t, s, &log)
	if r := l.past("wss://failing.example.net"); !r.NextAttempt.Equal(failing.NextAttempt) || r.Failures != 30 {
		t.Errorf("%+v", r)
	}
	if r := l.past("wss://dead.example.net"); !r.NextAttempt.IsZero() || !r.Dead(peer.Defaults().Backoff()) || r.Failures != 60 {
		t.Errorf("%+v", r)
	}
}
