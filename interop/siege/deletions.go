package main

import (
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// deletions makes the writer write and remember much for one event.
var deletions = attack{
	name:  "deletions",
	does:  "one address, 100 connections: 200 deletions a second that name 1,600 ids each",
	bound: "the address pays as one party; 200 names in a step; 20,000 marks of an author for what is not here",
	prepare: func(ctx context.Context, s *scene) error {
		taken, err := publishAll(ctx, s, 1, patience, []*nostr.Event{announce("deleter", "deleter", "")})
		if err == nil && taken == 0 {
			err = errors.New("the repository of who deletes is not taken")
		}
		return err
	},
	strike: func(ctx context.Context, s *scene) error { return flood(ctx, s, deletion) },
}

func deletion() *nostr.Event {
	tags := make([]nostr.Tag, 1600)
	for i := range tags {
		var id [32]byte
		for j := 0; j < len(id); j += 8 {
			x := rand.Uint64()
			for k := range 8 {
				id[j+k] = byte(x >> (8 * k))
			}
		}
		tags[i] = nostr.Tag{"e", hex.EncodeToString(id[:])}
	}
	return sign("deleter", 5, "", tags...)
}
