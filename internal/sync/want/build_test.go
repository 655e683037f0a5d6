package want_test

import (
	"github.com/graspd/graspd/internal/sync/want"
	"github.com/graspd/graspd/internal/sync/want/wanttest"
)

// What the tests of the fold share with those of its peers.
type (
	fold = wanttest.Fold
	mint = wanttest.Mint
)

// us is how announcements name this relay.
const us = wanttest.Us

// here is the relay that tests ask about.
const here want.URL = "wss://here.example.net"

var (
	service   = wanttest.Service
	key       = wanttest.Key
	address   = wanttest.Address
	relay     = wanttest.Relay
	minutes   = wanttest.Minutes
	newFold   = wanttest.NewFold
	collect   = wanttest.Collect
	newShop   = wanttest.NewShop
	apply     = wanttest.Apply
	allocated = wanttest.Allocated
)
