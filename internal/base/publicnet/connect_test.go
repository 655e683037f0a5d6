package publicnet_test

import (
	"net/url"
	"testing"

	"github.com/graspd/graspd/internal/base/publicnet"
)

// What an operator reads of an address where nothing listens says once what was tried.
func TestAConnectionThatIsRefused(t *testing.T) {
	n := publicnet.New(publicnet.Config{AllowPrivate: true})
	u, err := url.Parse("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	target, err := n.Target(u, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = n.Connect(t.Context(), target); err == nil || err.Error() != "dial tcp 127.0.0.1:1: connect: connection refused" {
		t.Errorf("%v", err)
	}
}
