package peer_test

import "github.com/graspd/graspd/internal/sync/want/wanttest"

// What the tests of the fold share with those of its peers.
type (
	fold = wanttest.Fold
	mint = wanttest.Mint
	shop = wanttest.Shop
)

// us is how announcements name this relay.
const us = wanttest.Us

var (
	service    = wanttest.Service
	key        = wanttest.Key
	identifier = wanttest.Identifier
	address    = wanttest.Address
	relay      = wanttest.Relay
	minutes    = wanttest.Minutes
	newFold    = wanttest.NewFold
	newShop    = wanttest.NewShop
	apply      = wanttest.Apply
	allocated  = wanttest.Allocated
)
