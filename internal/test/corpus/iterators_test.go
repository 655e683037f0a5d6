package corpus_test

import (
	"context"
	"iter"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/corpus"
	"github.com/graspd/graspd/internal/test/testkit/itertest"
)

func TestSequencesEndWithTheirReaders(t *testing.T) {
	o := corpus.Options{Repositories: 5, Roots: 20, Others: 60, Noise: 20, Since: 1000, Until: 100_000, Sign: quick}
	itertest.Seq(t, func(context.Context) iter.Seq[corpus.Item] { return corpus.Stream(o) })
	c := corpus.Generate(o)
	itertest.Seq(t, func(context.Context) iter.Seq[*nostr.Event] { return c.Events(corpus.Served) })
}
