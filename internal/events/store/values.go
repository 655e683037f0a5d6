package store

import (
	"github.com/graspd/graspd/internal/events/store/index"
	"github.com/graspd/graspd/internal/events/store/kv"
	"github.com/graspd/graspd/internal/events/store/layout"
)

// What the store's methods speak of, as it stands on disk.
type (
	Seq     = layout.Seq     // Seq numbers the entries of the feed.
	Source  = layout.Source  // Source says which way an event came.
	Reason  = layout.Reason  // Reason says why an event was removed.
	Entry   = layout.Entry   // Entry is one step of the feed.
	Wait    = layout.Wait    // Wait is how an event waits for the git data that it names.
	Waiting = layout.Waiting // Waiting is an event that waits.
)

// What queries answer with.
type (
	Row       = index.Row       // Row is one stored event of a query's answer.
	Pair      = index.Pair      // Pair is what a reconciliation (NIP-77) compares.
	Mark      = index.Mark      // Mark is a Pair and where it was found.
	Meter     = index.Meter     // Meter is told how much work an answer takes.
	Knowledge = index.Knowledge // Knowledge is what the store knows of an id.
	State     = index.State     // State says whether an event is known.
)

// NoValue is the place of a value in a Mark that is not known.
const NoValue = index.NoValue

// The states of an id, as index has them.
const (
	Unknown    = index.Unknown
	Stored     = index.Stored
	Remembered = index.Remembered
	InWaiting  = index.InWaiting
)

// The sources of an event, as layout has them.
const (
	Direct  = layout.Direct
	Live    = layout.Live
	Catchup = layout.Catchup
	Daily   = layout.Daily
)

// The reasons of a removal, as layout has them.
const (
	ReasonDeleted   = layout.ReasonDeleted
	ReasonReplaced  = layout.ReasonReplaced
	ReasonExpired   = layout.ReasonExpired
	ReasonVanished  = layout.ReasonVanished
	ReasonWithdrawn = layout.ReasonWithdrawn
	ReasonLapsed    = layout.ReasonLapsed
	ReasonRefused   = layout.ReasonRefused
	ReasonBarred    = layout.ReasonBarred
	ReasonUnused    = layout.ReasonUnused
)

// Bounds of a row (SetRow), in bytes, and for how long a deletion request that has removed nothing is served and keeps away what it names.
const (
	MaxRowName  = layout.MaxRowName
	MaxRowValue = layout.MaxRowValue

	UnusedServed = layout.UnusedServed
	UnusedGate   = layout.UnusedGate
)

// Errors of what lies below the store.
var (
	ErrFormat  = layout.ErrFormat // another version wrote the data
	ErrInUse   = kv.ErrInUse      // another process has the store open
	ErrDamaged = kv.ErrDamaged    // what is on the disk is not what was written
)
