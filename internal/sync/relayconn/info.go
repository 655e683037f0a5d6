package relayconn

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
)

// Info fetches the relay's information document (NIP-11) within InfoTimeout, under the same address rule as Dial. It fails with
// *HandshakeError for a status other than 200, and wraps nip11.ErrTooLarge for a document above nip11.MaxSize. It ignores the content
// type: many relays name another.
func (d *Dialer) Info(ctx context.Context, u grasp.RelayURL) (nip11.Document, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.InfoTimeout)
	defer cancel()
	doc, err := d.fetchInfo(ctx, u)
	if err != nil {
		return nip11.Document{}, fmt.Errorf("fetch relay information of %s: %w", safetext.Printable(string(u)), err)
	}
	return doc, nil
}

func (d *Dialer) fetchInfo(ctx context.Context, u grasp.RelayURL) (nip11.Document, error) {
	t, err := d.target(u)
	if err != nil {
		return nip11.Document{}, err
	}
	conn, raw, err := d.net.Connect(ctx, t)
	if err != nil {
		return nip11.Document{}, err
	}
	defer raw.Close()
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL.String(), nil)
	if err != nil {
		return nip11.Document{}, remote(ctx, "request", err)
	}
	req.Header = http.Header{"Accept": {nip11.ContentType}, "User-Agent": {d.cfg.UserAgent}}
	req.Close = true
	resp, err := exchange{conn}.RoundTrip(req)
	if err != nil {
		return nip11.Document{}, remote(ctx, "request", err)
	}
	return readInfo(ctx, resp)
}

func readInfo(ctx context.Context, resp *http.Response) (nip11.Document, error) {
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, safetext.MaxText)) // for the log; the status says enough
		return nip11.Document{}, handshakeError(resp, body)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, nip11.MaxSize+1))
	if err != nil {
		return nip11.Document{}, remote(ctx, "read", err)
	}
	doc, err := nip11.Parse(body)
	if err != nil {
		return nip11.Document{}, publicnet.Error{Op: "parse", Err: err}
	}
	return doc, nil
}
