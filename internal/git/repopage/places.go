package repopage

import (
	"context"
	"runtime"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/serve/front"
)

// Bounds of pages that wait to be made.
const (
	placesAll = 256 // of all addresses
	placesOne = 16  // of one, or of one network
	placeTime = 20 * time.Second
	spellTime = 20 * time.Millisecond
)

// newPlaces has half of the processors make pages. Who has made graspd work least for pages lately goes first.
func newPlaces(now func() time.Time) *fair.Account {
	return fair.New(fair.Config{
		Name: "pages being made", Total: int64(max(1, runtime.GOMAXPROCS(0)/2)), Now: now, Places: placesAll, PlacesOne: placesOne, Most: placeTime,
	})
}

// newBodies bounds the memory of answers that are being sent.
func newBodies(now func() time.Time) *fair.Account {
	return fair.New(fair.Config{Name: "bytes of large answers", Total: sendBodies, Network: sendBodies / 4, Now: now, Places: placesAll, PlacesOne: placesOne, Most: placeTime})
}

// inSpells does long work with a place among the pages that are being made, which it leaves to whoever waits each spellTime. The work asks late
// again and again whether there is no time left: it has most, without that in which others had their turns. The visitor pays for it.
func (p *Pages) inSpells(ctx context.Context, c *code, most time.Duration, work func(late func() bool)) error {
	end, err := p.place(ctx, c.of, c.from)
	if err != nil {
		return err
	}
	begun := time.Now()
	pause := func() {
		spell := time.Since(begun)
		c.b.visitor.ChargeTime(spell)
		most -= spell
		end()
	}
	work(func() bool {
		if err == nil && time.Since(begun) >= spellTime {
			pause()
			if end, err = p.place(ctx, c.of, c.from); err != nil {
				end = func() {}
			}
			begun = time.Now()
		}
		return err != nil || ctx.Err() != nil || time.Since(begun) > most
	})
	pause()
	return err
}

// place waits for a place among the pages that are being made. It fails with a fair.Refusal, or with the cause of ctx. The caller calls end when
// the page is made.
func (p *Pages) place(ctx context.Context, of nip34.Address, from front.Client) (end func(), err error) {
	party := from.Visitor.Party()
	if from.Visitor != nil {
		party.Owner = of.PubKey.String()
	}
	g, err := p.places.Wait(ctx, party, 1)
	if err != nil {
		return nil, err
	}
	begun := p.Now()
	return func() {
		p.places.Charge(party, p.Now().Sub(begun))
		g.GiveBack()
	}, nil
}
