package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/storecheck"
)

// setRows commits rows.
func setRows(t testing.TB, s *store.Store, rows map[string][]byte) {
	t.Helper()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	for name, value := range rows {
		if err := b.SetRow(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
}

// TestBoundsOfRows: what is at a bound is kept, repaired and copied; what is past it is an error that changes nothing.
func TestBoundsOfRows(t *testing.T) {
	o := store.Options{Dir: "data", FS: vfs.NewMem()}
	s := open(t, o)
	name, value := strings.Repeat("n", store.MaxRowName), bytes.Repeat([]byte("value "), store.MaxRowValue/6+1)[:store.MaxRowValue]
	setRows(t, s, map[string][]byte{name: value})
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		value      []byte
	}{
		{name + "n", "a row's name has 1 to 200 bytes, not 201", []byte("1")},
		{name + "n", "a row's name has 1 to 200 bytes, not 201", nil},
		{"", "a row's name has 1 to 200 bytes, not 0", []byte("1")},
		{"x", `row "x": a value has at most 4194304 bytes, not 4194305`, append(value, 0)},
	} {
		if err := b.SetRow(c.name, c.value); fmt.Sprint(err) != c.want || b.Len() != 0 {
			t.Errorf("%.10s: %v, %d things done", c.name, err, b.Len())
		}
	}
	b.Discard()
	if err := s.Copy("copy"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := storecheck.Repair(t.Context(), o, storecheck.CheckOptions{}); err != nil || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, dir := range []string{"data", "copy"} {
		o.Dir = dir
		s := open(t, o)
		v := s.View()
		if got, err := v.Row(name); !bytes.Equal(got, value) || err != nil {
			t.Errorf("%s: %d bytes, %v", dir, len(got), err)
		}
		if r, err := storecheck.Check(t.Context(), v); r.Named != 1 || len(r.Problems) > 0 || err != nil {
			t.Errorf("%s: %+v, %v", dir, r, err)
		}
		v.Close()
	}
}

// TestReadRow: a row is read as Row gives it, and what do says comes back.
func TestReadRow(t *testing.T) {
	s, err := store.Open(store.Options{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"some": "thing", "empty": ""} {
		if err := b.SetRow(name, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	v := s.View()
	defer v.Close()
	for name, want := range map[string]any{"some": "thing", "empty": "", "none": nil} {
		failed := errors.New(name)
		var got any
		err := v.ReadRow(name, func(value []byte) error {
			if value != nil {
				got = string(value)
			}
			return failed
		})
		if got != want || !errors.Is(err, failed) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
