package githttp

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/graspd/graspd/internal/base/fair"
	"github.com/graspd/graspd/internal/base/safetext"
	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/serve/front"
	"github.com/graspd/graspd/internal/serve/web"
)

// exchange is one request and its answer.
type exchange struct {
	*Server
	w        http.ResponseWriter
	req      *http.Request
	from     front.Client
	out      *output
	of       nip34.Address
	repo     Repository
	service  gitwire.Service
	version  gitwire.Version
	lfs      bool          // git-lfs asks, and not git
	archives bool          // an archive is asked for, and nothing of git's
	ways     []web.Way     // from a page that says that it is not there: to the repository, which is known
	units    *fair.Grant   // of memory
	lent     *bufio.Reader // from readers; nil is none
	began    time.Time     // when the whole request for a pack had been read
}

const mostWay = 200 // bytes of the name of a way

// failure is an answer that is no part of git's protocol.
type failure struct {
	status int
	text   string
	wait   time.Duration // after which another try is worth it; 0 where nobody knows
}

func (f *failure) Error() string { return f.text }

// askedAnew is the Cache-Control of every answer. Nothing changes the values of a header in place.
var askedAnew = []string{"no-cache, max-age=0, must-revalidate"}

func (s *Server) serve(w http.ResponseWriter, req *http.Request, from front.Client) {
	x := &exchange{Server: s, w: w, req: req, from: from, out: newOutput(w, &s.counts.out), units: s.requests.Open(from.Visitor.Party())}
	defer x.giveBack()
	w.Header()["Cache-Control"] = askedAnew
	err := x.answer()
	var f *failure
	switch {
	case err == nil:
	case errors.As(err, &f):
		x.fail(f)
	default:
		s.logger.Error("a repository cannot be looked up", "error", err)
		x.fail(&failure{status: http.StatusInternalServerError, text: "this server has a fault: try again later"})
	}
}

// answer finds out what the client asks for, and answers. The client has not heard of a failure that it returns.
func (x *exchange) answer() error {
	rest, err := x.locate()
	if err != nil {
		return err
	}
	serve, err := x.choose(rest)
	if err != nil {
		return err
	}
	if wait := x.from.Visitor.Admit(); wait > 0 {
		return &failure{http.StatusTooManyRequests, "too many requests from your address: try again later", wait}
	}
	if err := x.hold(4); err != nil { // the buffers for sending
		return err
	}
	var found bool
	if x.repo, found, err = x.host.Find(x.of); err != nil {
		return err
	}
	if !found {
		return &failure{status: http.StatusNotFound, text: noRepository(x.service)}
	}
	return serve()
}

// locate finds the repository that the path names, and returns what follows its name.
func (x *exchange) locate() (string, error) {
	path, contributed := x.contributed(strings.TrimPrefix(x.req.URL.EscapedPath(), x.base))
	owner, identifier, rest, err := grasp.ParseRepositoryPath(path)
	if err != nil {
		return "", &failure{status: http.StatusBadRequest, text: err.Error()}
	}
	x.of = nip34.Address{Kind: nip34.KindRepository, PubKey: owner, D: identifier}
	if contributed {
		x.of = grasp.Contributed(owner, identifier)
	}
	return rest, nil
}

// choose returns the function that answers requests for a path.
func (x *exchange) choose(rest string) (func() error, error) {
	x.version = gitwire.ParseVersion(x.req.Header.Get("Git-Protocol"))
	const dumb = "only the smart HTTP protocol is spoken here: use git 1.6.6 or later, or leave GIT_SMART_HTTP unset"
	switch rest {
	case "/info/refs":
		service, ok := serviceOf(x.req.URL)
		if !ok {
			return nil, &failure{status: http.StatusForbidden, text: dumb}
		}
		x.service = service
		if service == gitwire.ReceivePack && x.taker == nil {
			return nil, elsewhere
		}
		return x.advertise, x.allow(http.MethodGet, http.MethodHead)
	case "/git-upload-pack":
		return x.fetch, x.allow(http.MethodPost)
	case "/git-receive-pack":
		x.service = gitwire.ReceivePack
		if x.taker == nil {
			return nil, elsewhere
		}
		return x.push, x.allow(http.MethodPost)
	}
	if x.lfs = isLFS(rest); x.lfs {
		return nil, &failure{status: http.StatusNotFound, text: noLFS}
	}
	if name, ok := archiveIn(rest); ok {
		x.archives = true
		return func() error {
			x.ways = []web.Way{{Path: strings.TrimSuffix(x.req.URL.EscapedPath(), rest), Name: safetext.Line(safetext.Escape(x.of.D), mostWay)}}
			return x.archive(name)
		}, x.allow(http.MethodGet, http.MethodHead)
	}
	return nil, &failure{status: http.StatusForbidden, text: dumb}
}

// elsewhere tells who pushes here that another node takes pushes, and cannot be reached.
var elsewhere = &failure{http.StatusServiceUnavailable, ingest.NoWriter, elsewhereWait}

// serviceOf returns the service for which a client wants to know the refs. It needs no parser, as git's query has nothing else.
func serviceOf(u *url.URL) (gitwire.Service, bool) {
	if name, ok := strings.CutPrefix(u.RawQuery, "service="); ok {
		if s, ok := gitwire.ParseService(name); ok {
			return s, true
		}
	}
	return gitwire.ParseService(u.Query().Get("service"))
}

func (x *exchange) allow(methods ...string) error {
	for _, m := range methods {
		if x.req.Method == m {
			return nil
		}
	}
	x.w.Header().Set("Allow", strings.Join(append(methods, http.MethodOptions), ", "))
	return &failure{status: http.StatusMethodNotAllowed, text: "this is asked for with " + strings.Join(methods, " or ")}
}

// hold takes units of memory from the pool for as long as the exchange lasts.
func (x *exchange) hold(units int) error {
	switch x.units.Grow(int64(units)) {
	case fair.OverAddress:
		return &failure{http.StatusTooManyRequests, "too many requests at once from your address: try again later", busyWait}
	case fair.OverAll:
		return &failure{http.StatusTooManyRequests, "too many requests at once: try again later", busyWait}
	}
	return nil
}

func (x *exchange) giveBack() {
	x.units.GiveBack()
	if x.lent != nil {
		x.lent.Reset(nil)
		readers.Put(x.lent)
	}
}

// fail answers with a text, or with a page that an archive is not there.
func (x *exchange) fail(f *failure) {
	if f.wait > 0 {
		x.retryAfter(f.wait)
	}
	answer := Refused
	if f.status >= http.StatusInternalServerError {
		answer = Failed
	}
	x.count(answer)
	switch {
	case x.lfs:
		failLFS(x.w, f)
	case x.archives && f.status == http.StatusNotFound:
		x.look.Missing(x.w, x.req, x.name, x.base+"/", "There is no such archive here", f.text, x.ways...)
	default:
		http.Error(x.w, fmt.Sprint(f.status, " ", f.text), f.status)
	}
}

// retryAfter puts into the header of an answer when another try is worth it.
func (x *exchange) retryAfter(wait time.Duration) {
	x.w.Header().Set("Retry-After", strconv.Itoa(seconds(wait)))
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// reply answers with a whole text; sort is advertisement or result.
func (x *exchange) reply(sort string, text []byte) {
	x.head(sort)
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(text))}
	x.out.send(text)
}

func (x *exchange) head(sort string) {
	x.w.Header()["Content-Type"] = []string{"application/x-" + x.service.String() + "-" + sort}
}

// address returns the address whose allowance the exchange uses up.
func (x *exchange) address() string { return front.Address(x.from.Addr).String() }

// party names the party that a process of git works for; "" is the operator.
func (x *exchange) party() string {
	if x.from.Visitor == nil {
		return ""
	}
	return front.Network(x.from.Addr).String()
}

// noRepository says that there is no such repository. Whoever pushes hears where the commands are that announce it.
func noRepository(asked gitwire.Service) string {
	const text = "there is no such repository here: its announcement (kind 30617) has to be published first"
	if asked == gitwire.ReceivePack {
		return text + "; the start page of this server has the commands (ngit init, then git push)"
	}
	return text
}
