package relayconn_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/sync/relayconn"
)

// These run over the system's own resolver and network, which the other tests replace.

func TestTheSystemsNetworkObeysTheRule(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{}, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			go websocketTo(echo)(c)
		}
	}()
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())

	for _, host := range []string{"127.0.0.1", "localhost"} {
		u := grasp.RelayURL("ws://" + host + ":" + port)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := relayconn.New(relayconn.Config{}).Dial(ctx, u); !errors.Is(err, relayconn.ErrForbiddenAddress) {
			t.Errorf("%s: %v", u, err)
		}
		select {
		case <-accepted:
			t.Errorf("%s was connected to", u)
		default:
		}
		c, err := relayconn.New(relayconn.Config{Net: publicnet.Config{AllowPrivate: true}}).Dial(ctx, u)
		if err != nil {
			t.Errorf("%s with private addresses allowed: %v", u, err)
			continue
		}
		if err := c.Close("bye"); err != nil {
			t.Error(err)
		}
		<-accepted
	}
}
