package policy

import (
	"fmt"
	"slices"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// announcement accepts an announcement that lists this service, one that is archived (GRASP-05), and one whose author maintains, or is
// invited to, a repository with such an announcement (GRASP-01). Where this service hosts repositories, an announcement lists it only with
// a clone URL of it too, unless the announcement replaces one without a clone URL.
func (r Rules) announcement(e *nostr.Event, v View) (Verdict, error) {
	a, err := nip34.ParseAnnouncement(e)
	if err != nil {
		return Verdict{Refuse, "invalid: " + err.Error() + "; mend it and publish again"}, nil
	}
	own := r.Announcer(a)
	if own.Founds() && (own.clones || own.archived || !r.Git) {
		return Verdict{}, nil
	}
	same, err := v.Announcements(a.Address.D, r)
	if err != nil {
		return Verdict{}, err
	}
	relays := own.lists
	if relays && r.Git && !own.clones {
		if own.lists = same.withoutClone(own.Author); own.Founds() {
			return Verdict{}, nil
		}
	}
	if own.here() || same.invites(same.withoutLists(), own) {
		return own.admit(same), nil
	}
	held, err := v.HasAddress(a.Address.String())
	if err != nil {
		return Verdict{}, err
	}
	if relays {
		return r.noClone(a, held), nil
	}
	if held {
		return Verdict{Withdraw, fmt.Sprintf("blocked: this version does not have this relay (%s) in its relays tag, so the "+
			"announcement leaves it; to stay, add it and publish again (with ngit: %s)", r.Service.RelayURL(), r.ngit(a.Address))}, nil
	}
	return Verdict{Unlisted, fmt.Sprintf("blocked: this relay (%s) is not in the relays tag of the announcement; "+
		"add it and publish again (with ngit: %s)", r.Service.RelayURL(), r.ngit(a.Address))}, nil
}

// ngit returns the commands by which a repository comes here, whether ngit has announced it already or not, and the URL by which everybody clones it.
func (r Rules) ngit(a nip34.Address) string {
	name := r.Service.ServerName()
	text := "ngit repo edit --add-grasp-server " + name + ", or at first ngit init --grasp-server " + name + " --defaults"
	if !r.Git {
		return text
	}
	if text += "; then git push"; a.D != "" {
		text += ", and everybody clones " + r.Service.CloneURL(a.PubKey, a.D)
	}
	return text
}

// noClone refuses an announcement that lists this service as a relay, but has no clone URL of it.
func (r Rules) noClone(of *nip34.Announcement, held bool) Verdict {
	a := of.Address
	if a.D == "" {
		const text = "the d tag of the announcement is empty, so its repository has no URL here; name the repository in it and publish again"
		if held {
			return Verdict{Withdraw, "blocked: this version leaves this relay, as " + text}
		}
		return Verdict{Unlisted, "invalid: " + text}
	}
	mend := fmt.Sprintf("add %s and publish again (with ngit: %s)", r.Service.CloneURL(a.PubKey, a.D), r.ngit(a))
	if held {
		return Verdict{Withdraw, "blocked: this version has no clone URL of this service, so the announcement leaves it; to stay, " + mend}
	}
	if slices.ContainsFunc(of.Clone, grasp.HasCredentials) {
		return Verdict{Unlisted, "blocked: a URL in the clone tag has a user name or password, which everybody can read, and counts for nothing; " + mend + ", without them"}
	}
	return Verdict{Unlisted, "blocked: the clone tag of the announcement has no URL of this service; " + mend}
}

// state accepts a state whose author has an announcement here with the same d tag. Nobody else can be a maintainer: whoever others list is
// only invited until their own announcement is here.
func (r Rules) state(e *nostr.Event, v View) (Verdict, error) {
	address := nip34.Address{Kind: nip34.KindRepository, PubKey: e.PubKey, D: e.Tags.D()}
	if r.Lists.Bars(address) {
		return Verdict{Refuse, barredRepo}, nil
	}
	ok, err := r.carrier(v).carries(address)
	if ok || err != nil {
		return Verdict{}, err
	}
	return Verdict{NoMaintainer, "blocked: you maintain no repository with this d tag on this relay; " +
		"publish your announcement (kind 30617) with the same d tag here first, then this state again"}, nil
}

// Unwelcome returns the served announcements with that d tag which came by an invitation that has ended: Decide would not accept them any
// more. The lists do not matter, as nothing that is stored goes because somebody edits a file. Removing these announcements makes no others
// unwelcome. Where the View gives as many announcements as it can, there may be inviters beyond them, so Unwelcome returns none.
func (r Rules) Unwelcome(d string, v View) ([]nostr.ID, error) {
	same, err := v.Announcements(d, r)
	if err != nil {
		return nil, fmt.Errorf("unwelcome announcements: %w", err)
	}
	if len(same.list) >= MaxAnnouncements {
		return nil, nil
	}
	var ids []nostr.ID
	for _, a := range same.list {
		if !same.withoutLists().welcome.Has(a.Author) {
			ids = append(ids, a.ID)
		}
	}
	return ids, nil
}
