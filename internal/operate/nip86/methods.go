package nip86

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// call is the body of a request.
type call struct {
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// asked is a call by somebody.
type asked struct {
	call
	by string // an npub
}

// methods has the methods of NIP-86 that this relay knows, beside supportedmethods.
var methods = map[string]func(*manager, context.Context, asked) (any, error){
	"banpubkey":          banning(moderation.ParseAuthor),
	"unbanpubkey":        lifting(moderation.ParseAuthor),
	"listbannedpubkeys":  listing(moderation.Author, func(s moderation.Subject, why string) any { return keyAndWhy{s.PubKey.String(), why} }),
	"allowpubkey":        allow,
	"unallowpubkey":      disallow,
	"listallowedpubkeys": listAllowed,
	"banevent":           banning(moderation.ParseEvent),
	"allowevent":         lifting(moderation.ParseEvent),
	"listbannedevents":   listing(moderation.Event, func(s moderation.Subject, why string) any { return bannedEvent{s.ID.String(), why} }),

	"changerelayname":        changing(SettingName),
	"changerelaydescription": changing(SettingDescription),
	"changerelayicon":        changing(SettingIcon),
}

type keyAndWhy struct {
	PubKey string `json:"pubkey"`
	Reason string `json:"reason,omitempty"`
}

type bannedEvent struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"`
}

// do does what the body of a request asks for, and returns the result.
func (m *manager) do(ctx context.Context, body []byte, by nostr.PubKey) (any, error) {
	a := asked{by: nip19.Npub(by)}
	if err := json.Unmarshal(body, &a.call); err != nil {
		return nil, errors.New(`want {"method": "...", "params": [...]}`)
	}
	if a.Method == "supportedmethods" {
		return append(slices.Sorted(maps.Keys(methods)), a.Method), nil
	}
	f := methods[a.Method]
	if f == nil {
		return nil, errors.New("no such method; supportedmethods names those that there are")
	}
	return f(m, ctx, a)
}

// subject reads the first parameter, and the reason that may follow.
func (c call) subject(parse func(string) (moderation.Subject, error)) (s moderation.Subject, why string, err error) {
	if len(c.Params) < 1 || len(c.Params) > 2 {
		return s, "", fmt.Errorf("%s: want one parameter and perhaps a reason", c.Method)
	}
	var text string
	if err := json.Unmarshal(c.Params[0], &text); err != nil {
		return s, "", fmt.Errorf("%s: the first parameter is no text", c.Method)
	}
	if len(c.Params) == 2 {
		if err := json.Unmarshal(c.Params[1], &why); err != nil {
			return s, "", fmt.Errorf("%s: the reason is no text", c.Method)
		}
	}
	s, err = parse(text)
	return s, why, err
}

// banning makes a method that bars a subject, and waits for at most patience until its events are put aside.
func banning(parse func(string) (moderation.Subject, error)) func(*manager, context.Context, asked) (any, error) {
	return func(m *manager, ctx context.Context, a asked) (any, error) {
		s, why, err := a.subject(parse)
		if err != nil {
			return nil, err
		}
		x, err := m.Moderation.Bar(ctx, moderation.Order{Subject: s, By: a.by, Why: why})
		if err != nil {
			return nil, err
		}
		m.await(ctx, x.N)
		return true, nil
	}
}

// lifting makes a method that takes a ban back, and waits for at most patience until its events are put back.
func lifting(parse func(string) (moderation.Subject, error)) func(*manager, context.Context, asked) (any, error) {
	return func(m *manager, ctx context.Context, a asked) (any, error) {
		s, why, err := a.subject(parse)
		if err != nil {
			return nil, err
		}
		n := m.caseOf(s)
		switch was, err := m.Moderation.LiftSubject(ctx, s, a.by, why); {
		case err != nil:
			return nil, err
		case !was:
			return nil, errors.New("it is not banned")
		}
		m.await(ctx, n)
		return true, nil
	}
}

// allow has the allow list take an author in, and lifts a ban of them.
func allow(m *manager, ctx context.Context, a asked) (any, error) {
	s, why, err := a.subject(moderation.ParseAuthor)
	if err != nil {
		return nil, err
	}
	n := m.caseOf(s)
	if err := m.Moderation.Allow(ctx, s.PubKey, a.by, why); err != nil {
		return nil, err
	}
	if n != 0 {
		m.await(ctx, n)
	}
	return true, nil
}

// disallow takes an author out again whom allow has put on the list.
func disallow(m *manager, ctx context.Context, a asked) (any, error) {
	s, why, err := a.subject(moderation.ParseAuthor)
	if err != nil {
		return nil, err
	}
	switch was, err := m.Moderation.Disallow(ctx, s.PubKey, a.by, why); {
	case err != nil:
		return nil, err
	case !was:
		return nil, errors.New("it is not on the allow list")
	}
	return true, nil
}

// listAllowed lists the allow list in force, that of the settings and what allow has added.
func listAllowed(m *manager, _ context.Context, _ asked) (any, error) {
	out := []keyAndWhy{}
	for _, x := range m.Moderation.Allowed() {
		out = append(out, keyAndWhy{x.PubKey.String(), x.Why})
	}
	return out, nil
}

// await waits until a case is neither being cleared nor put back, or patience is over. The decision is in force before.
func (m *manager) await(ctx context.Context, n uint64) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m.Moderation.Await(ctx, n)
}

// caseOf returns the number of the case that bars a subject; 0 is none.
func (m *manager) caseOf(s moderation.Subject) uint64 {
	for _, x := range m.Moderation.Cases() {
		if x.Subject == s && x.Barred() {
			return x.N
		}
	}
	return 0
}

// changing makes a method that changes a setting of what the relay says of itself.
func changing(setting string) func(*manager, context.Context, asked) (any, error) {
	return func(m *manager, ctx context.Context, a asked) (any, error) {
		var value string
		if len(a.Params) != 1 {
			return nil, fmt.Errorf("%s: want one parameter", a.Method)
		}
		if err := json.Unmarshal(a.Params[0], &value); err != nil {
			return nil, fmt.Errorf("%s: the parameter is no text", a.Method)
		}
		return true, m.Settings.Change(ctx, setting, value, a.by)
	}
}

// listing makes a method that lists the barred subjects of a sort, the newest first.
func listing(sort moderation.Sort, show func(moderation.Subject, string) any) func(*manager, context.Context, asked) (any, error) {
	return func(m *manager, _ context.Context, _ asked) (any, error) {
		out := []any{}
		for _, x := range m.Moderation.Cases() {
			if x.Subject.Sort == sort && x.Barred() {
				out = append(out, show(x.Subject, x.Why))
			}
		}
		return out, nil
	}
}
