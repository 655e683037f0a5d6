package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/serve/front"
)

// mostBody is how many bytes of an answer are read.
const mostBody = 1 << 20

// The largest difference between the clocks of this machine and of the server.
const (
	clocksWarn  = time.Minute
	clocksFault = 10 * time.Minute
)

func (x *examination) ask(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, x.at.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	r, err := x.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, mostBody))
	return r, b, err
}

// document reads the relay information document, and compares the clocks.
func (x *examination) document(ctx context.Context) bool {
	before := x.Now()
	r, body, err := x.ask(ctx, http.MethodGet, "/", http.Header{"Accept": {nip11.ContentType}}, nil)
	if err != nil {
		x.say("relay", Fault, fmt.Sprintf("no answer to HTTP: %v", err), "Does graspd run? `systemctl status graspd`, and `graspd status` on its machine.")
		return false
	}
	if r.StatusCode != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), nip11.ContentType) {
		text := fmt.Sprintf("the server answers %d, and not with a relay information document", r.StatusCode)
		mend := "The web server does not pass / on to graspd.\n  nginx: proxy_pass http://127.0.0.1:7334;\n  Caddy: reverse_proxy 127.0.0.1:7334"
		if r.StatusCode == http.StatusBadGateway || r.StatusCode == http.StatusServiceUnavailable {
			mend = "The web server does not reach graspd: does it run, and does it listen where the web server looks (--listen)?"
		}
		x.say("relay", Fault, text, mend)
		return false
	}
	d, err := nip11.Parse(body)
	if err != nil {
		x.say("relay", Fault, fmt.Sprintf("its information document cannot be read: %v", err), "")
		return false
	}
	x.hosts, x.limited = slices.Contains(d.SupportedGRASPs, "GRASP-01"), d.Limitation.RestrictedWrites || d.Limitation.AuthRequired
	x.private = slices.Contains(d.SupportedGRASPs, "GRASP-08")
	x.fine("relay", "%q, %s %s", d.Name, d.Software, d.Version)
	x.clock(r.Header.Get("Date"), before)
	return true
}

// clock compares the clock of this machine with the server's.
func (x *examination) clock(date string, before time.Time) {
	at, err := http.ParseTime(date)
	if err != nil {
		x.say("clock", Skipped, "the server does not tell its time", "")
		return
	}
	apart := at.Sub(before)
	if took := x.Now().Sub(before); apart > 0 {
		apart = max(0, apart-took)
	}
	switch {
	case apart.Abs() >= clocksFault:
		x.say("clock", Fault, fmt.Sprintf("this machine's clock and the server's are %s apart: events are refused as from the future, or as expired", apart.Abs().Round(time.Second)), "On the one that is wrong:\n  timedatectl set-ntp true")
	case apart.Abs() >= clocksWarn:
		x.say("clock", Warning, fmt.Sprintf("this machine's clock and the server's are %s apart", apart.Abs().Round(time.Second)), "On the one that is wrong:\n  timedatectl set-ntp true")
	default:
		x.fine("clock", "as the server's, to the minute")
	}
}

// domain compares --domain with the name in the URL, by which the world reaches the relay.
func (x *examination) domain(context.Context) bool {
	switch want := x.service.String(); {
	case x.Domain.String() == "":
		x.say("domain", Skipped, "--domain is not known here: give it, or GRASPD_DOMAIN, to have it compared", "")
	case x.Domain != x.service:
		x.say("domain", Fault, fmt.Sprintf("the relay has --domain %s, and this URL is of %s: announcements that list this URL are not for it", x.Domain, want),
			fmt.Sprintf("Start graspd with\n  --domain %s", want))
	default:
		x.fine("domain", "announcements list %s and %s/<npub>/<identifier>.git", x.service.RelayURL(), x.service.WebURL())
	}
	return true
}

// address asks which address the relay takes this client for, and whether it believes a client that lies about its address.
func (x *examination) address(ctx context.Context) bool {
	const lie = "192.0.2.77"
	r, body, err := x.ask(ctx, http.MethodGet, front.AddressPath, nil, nil)
	seen, bad := netip.ParseAddr(strings.TrimSpace(string(body)))
	if err != nil || r.StatusCode != http.StatusOK || bad != nil {
		x.say("address", Skipped, "the relay does not say which address it takes a client for", "")
		return true
	}
	_, body, err = x.ask(ctx, http.MethodGet, front.AddressPath, http.Header{"X-Forwarded-For": {lie}}, nil)
	switch {
	case err == nil && strings.TrimSpace(string(body)) == lie && seen.String() != lie:
		x.say("address", Fault, "the relay believes every client which address it has: limits hold for nobody",
			"Let the web server set the address, and name only the web server in --trusted-proxies.\n  nginx: proxy_set_header X-Forwarded-For $remote_addr;")
	case (seen.IsLoopback() || seen.IsPrivate()) && seen != x.local && !x.local.IsLoopback():
		x.say("address", Fault, fmt.Sprintf("the relay takes every client for %s, its own web server: all of them share one address's limits, or have none", seen),
			fmt.Sprintf("Start graspd with\n  --trusted-proxies %s\nand let the web server tell who asks.\n  nginx: proxy_set_header X-Forwarded-For $remote_addr;\n  Caddy does so by itself.", seen))
	case seen.IsLoopback():
		x.say("address", Warning, fmt.Sprintf("the relay takes this client for %s, which is right only where both are on one machine: loopback has no limits", seen),
			"Behind a web server start graspd with\n  --trusted-proxies 127.0.0.1,::1\nand run graspd doctor on another machine as well.")
	default:
		x.fine("address", "the relay sees clients as they are (this one as %s)", seen)
	}
	return true
}

// repository returns the path of a repository of the test key.
func (x *examination) repository() string {
	return "/" + nip19.Npub(x.Key.PubKey()) + "/" + testIdentifier + ".git"
}

// gitRefs asks for the refs of a repository that does not exist.
func (x *examination) gitRefs(ctx context.Context) bool {
	if !x.hosts {
		level, text := Skipped, "the relay hosts no repositories"
		if x.Git {
			level, text = Warning, "the relay does not say that it hosts repositories (--git=false?)"
		}
		x.say("git", level, text, "")
		return true
	}
	r, _, err := x.ask(ctx, http.MethodGet, x.repository()+"/info/refs?service=git-upload-pack", http.Header{"Git-Protocol": {"version=2"}}, nil)
	const mend = "The web server has to pass everything on to graspd, not only / and WebSockets.\n  nginx: location / { proxy_pass http://127.0.0.1:7334; }"
	switch {
	case err != nil:
		x.say("git", Fault, fmt.Sprintf("git's requests are not answered: %v", err), mend)
	case x.private && x.shut(r) && r.Header.Get("Access-Control-Allow-Origin") == "*":
		x.fine("git", "its requests get to graspd, which is private and refuses strangers")
	case x.private:
		x.say("git", Fault, fmt.Sprintf("the relay says that it is private, and a stranger's request of git is answered with %d, not by a 401 of graspd", r.StatusCode), mend)
	case r.StatusCode != http.StatusNotFound || r.Header.Get("Access-Control-Allow-Origin") != "*":
		x.say("git", Fault, fmt.Sprintf("git's requests do not get to graspd: %d for a repository that there is not", r.StatusCode), mend)
	default:
		x.fine("git", "its requests get to graspd")
	}
	return true
}

// shut reports whether an answer is that of a private service to strangers (GRASP-08).
func (x *examination) shut(r *http.Response) bool {
	return r.StatusCode == http.StatusUnauthorized && strings.HasPrefix(r.Header.Get("WWW-Authenticate"), "Nostr ")
}

// gitBodies sends a body that is larger than web servers take by default.
func (x *examination) gitBodies(ctx context.Context) bool {
	if !x.hosts {
		return true
	}
	const size = 1<<20 + 64<<10
	r, _, err := x.ask(ctx, http.MethodPost, x.repository()+"/git-receive-pack", http.Header{"Content-Type": {"application/x-git-receive-pack-request"}}, make([]byte, size))
	switch {
	case err == nil && r.StatusCode == http.StatusRequestEntityTooLarge:
		x.say("pushes", Fault, "the web server refuses bodies of more than a MiB: larger pushes fail", "nginx: client_max_body_size 0; proxy_request_buffering off;")
	case err == nil && r.StatusCode == http.StatusNotFound, err == nil && x.private && x.shut(r), err != nil && ctx.Err() == nil:
		// graspd may hang up on a body that it does not want; that too shows that the body got there.
		x.fine("pushes", "large bodies get to graspd")
	case err != nil:
		x.say("pushes", Warning, fmt.Sprintf("a body of a MiB was not answered: %v", err), "nginx: proxy_request_buffering off;")
	default:
		x.say("pushes", Warning, fmt.Sprintf("a body of a MiB is answered with %d", r.StatusCode), "")
	}
	return true
}
