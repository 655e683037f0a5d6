package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	dgbadger "github.com/dgraph-io/badger/v4"
	"github.com/fiatjaf/eventstore"
	"github.com/fiatjaf/eventstore/badger"
	"github.com/fiatjaf/khatru"
	gonostr "github.com/nbd-wtf/go-nostr"
)

// other is a relay that others wrote: khatru with NIP-77, on eventstore's badger with its usual limits. It runs in this process.
type other struct {
	db   *badger.BadgerBackend
	http *httptest.Server
}

// startKhatru runs it with the corpus, where the proxy stood.
func startKhatru(ctx context.Context, w *world) (_ *other, err error) {
	k := &other{db: &badger.BadgerBackend{Path: w.path("khatru"), BadgerOptionsModifier: func(o dgbadger.Options) dgbadger.Options {
		return o.WithLogger(nil)
	}}}
	if err := k.db.Init(); err != nil {
		return nil, err
	}
	if err := k.load(ctx, w.corpus.file); err != nil {
		k.db.Close()
		return nil, err
	}
	r := khatru.NewRelay()
	r.Log = log.New(io.Discard, "", 0)
	r.Negentropy = true
	r.Info.AddSupportedNIP(77)
	r.StoreEvent = append(r.StoreEvent, k.db.SaveEvent)
	r.QueryEvents = append(r.QueryEvents, k.db.QueryEvents)
	r.CountEvents = append(r.CountEvents, k.db.CountEvents)
	r.DeleteEvent = append(r.DeleteEvent, k.db.DeleteEvent)
	r.ReplaceEvent = append(r.ReplaceEvent, k.db.ReplaceEvent)
	l, err := net.Listen("tcp", w.proxy.addr)
	if err != nil {
		k.db.Close()
		return nil, err
	}
	k.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: r}}
	k.http.Start()
	return k, nil
}

func (k *other) load(ctx context.Context, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e gonostr.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return err
		}
		if err := k.db.SaveEvent(ctx, &e); err != nil && !errors.Is(err, eventstore.ErrDupEvent) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return lines.Err()
}

func (k *other) close() {
	k.http.CloseClientConnections()
	k.http.Close()
	k.db.Close()
}
