// Package snapshot keeps copies of a store in an object store, beside its commit log: an empty machine begins with one, and the log before the
// older of two can go. Read Snapshot first, then Make and Restore.
package snapshot

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/events/store/bucketlog"
	"github.com/graspd/graspd/internal/events/store/commitlog"
)

// Snapshot is a copy of a store in an object store. It is there once its list is, which is written last, after all files were read back.
type Snapshot struct {
	Place store.Place // up to where the copy has the log, as it says itself
	Made  time.Time   // by the clock of whoever made it
	Files []File

	under string // what the names of its files begin with
}

// File is one file of a copy.
type File struct {
	Name string
	Size int64
	Hash Hash
}

// Hash is the SHA-256 of a file, in hex where it is written.
type Hash [32]byte

// String returns the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Errors of snapshots that callers tell apart.
var (
	ErrDamaged = errors.New("a snapshot in the object store is damaged")
	ErrFormat  = errors.New("a snapshot in the object store has the format of another version")
	ErrNone    = errors.New("the object store has no snapshot of the log")
)

// Where lists and files lie. A list is called by position and chain, and the files of a snapshot lie together under its position and a word.
const (
	listPrefix = "snapshots/"
	filePrefix = "snapshot-files/"
)

// format is the version of the lists that this package writes, the only one that it reads.
const format = 1

// list is a Snapshot as its object has it.
type list struct {
	Format   int        `json:"format"`
	Position uint64     `json:"position"`
	Term     uint64     `json:"term"`
	Began    uint64     `json:"began"`
	Chain    string     `json:"chain"`
	Made     int64      `json:"made"`  // Unix time
	Under    string     `json:"under"` // what the names of the files' objects begin with
	Files    []listFile `json:"files"`
}

type listFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Bytes is how large the copy is.
func (s Snapshot) Bytes() (n int64) {
	for _, f := range s.Files {
		n += f.Size
	}
	return n
}

// name is the name of the list.
func (s Snapshot) name() string {
	return fmt.Sprintf("%s%020d-%x", listPrefix, s.Place.Position, s.Place.Chain[:8])
}

// object is the name of a file's object.
func (s Snapshot) object(f File) string { return s.under + f.Hash.String() }

func (s Snapshot) encode() ([]byte, error) {
	l := list{Format: format, Position: s.Place.Position, Term: s.Place.Term, Began: s.Place.Began, Chain: hex.EncodeToString(s.Place.Chain[:]), Made: s.Made.Unix(), Under: s.under}
	for _, f := range s.Files {
		l.Files = append(l.Files, listFile{f.Name, f.Size, f.Hash.String()})
	}
	return json.Marshal(l)
}

// parse reads a list.
func parse(b []byte) (s Snapshot, err error) {
	var l list
	if err := json.Unmarshal(b, &l); err != nil {
		return s, fmt.Errorf("%w: its list: %w", ErrDamaged, err)
	}
	if l.Format != format {
		return s, fmt.Errorf("%w (format %d, this one knows %d)", ErrFormat, l.Format, format)
	}
	s = Snapshot{Place: store.Place{Position: l.Position, Term: l.Term, Began: l.Began}, Made: time.Unix(l.Made, 0), under: l.Under}
	chain, err := readHash(l.Chain)
	if err != nil || !strings.HasPrefix(l.Under, filePrefix) || len(l.Files) == 0 {
		return Snapshot{}, fmt.Errorf("%w: its list has no chain, or no files", ErrDamaged)
	}
	s.Place.Chain = chain
	for _, f := range l.Files {
		h, err := readHash(f.SHA256)
		if err != nil || !isFileName(f.Name) || f.Size < 0 {
			return Snapshot{}, fmt.Errorf("%w: its list has a file %q", ErrDamaged, f.Name)
		}
		s.Files = append(s.Files, File{f.Name, f.Size, h})
	}
	return s, nil
}

func readHash(s string) (h Hash, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, errors.New("no SHA-256")
	}
	return Hash(b), nil
}

// isFileName reports whether a name can only be that of a file of a store in its own directory.
func isFileName(name string) bool {
	return name != "" && name[0] != '.' && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == ""
}

// positionOf is the position in the name of a list, or of a file's object.
func positionOf(name string) (uint64, bool) {
	_, rest, _ := strings.Cut(name, "/")
	digits, _, ok := strings.Cut(rest, "-")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, ok && err == nil && len(digits) == 20
}

// All returns the snapshots that count, the newest first: those whose place is one of the log's beside them. wrong says what else is there and cannot
// be read.
func All(ctx context.Context, o objects.Store) (all []Snapshot, wrong []error, err error) {
	o = objects.Patient{Store: o}
	log := bucketlog.New(o)
	names, err := listed(ctx, o, listPrefix)
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(names)
	for _, x := range names {
		s, err := read(ctx, o, x.Name)
		if errors.Is(err, objects.ErrNone) { // it has gone meanwhile
			continue
		}
		if errors.Is(err, ErrDamaged) || errors.Is(err, ErrFormat) {
			wrong = append(wrong, fmt.Errorf("%s: %w", x.Name, err))
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		is, err := isOf(ctx, log, s)
		if err != nil {
			return nil, nil, err
		}
		if is {
			all = append(all, s)
		}
	}
	return all, wrong, nil
}

// isOf reports whether the log has the snapshot's place. The log keeps the entries at which the snapshots that count end.
func isOf(ctx context.Context, log *bucketlog.Log, s Snapshot) (bool, error) {
	c, err := log.Chain(ctx, commitlog.Position(s.Place.Position))
	if errors.Is(err, commitlog.ErrNone) {
		return false, nil
	}
	return err == nil && c == s.Place.Chain, err
}

// read reads a list.
func read(ctx context.Context, o objects.Store, name string) (Snapshot, error) {
	var b bytes.Buffer
	if err := copyOut(ctx, o, name, -1, &b); err != nil {
		return Snapshot{}, err
	}
	s, err := parse(b.Bytes())
	if err == nil && s.name() != name {
		err = fmt.Errorf("%w: its list is called %s", ErrDamaged, s.name())
	}
	return s, err
}
