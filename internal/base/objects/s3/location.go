package s3

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/graspd/graspd/internal/base/objects"
)

// Location says where a bucket is.
type Location struct {
	Bucket, Prefix   string
	Endpoint, Region string // the endpoint as host, or as host and port
	Plain            bool   // over HTTP without TLS
}

// Form is how a Location is written.
const Form = "s3://name/prefix?endpoint=https://s3.example.org&region=eu-1"

// Errors of locations.
var (
	errForm = errors.New("no bucket: a bucket is written as " + Form)
	errKeys = errors.New("the keys of a bucket do not belong into its URL: they come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, from ~/.aws/credentials, or from the role of the machine")
)

// usualRegion is what stores expect that have no regions.
const usualRegion = "us-east-1"

// ParseLocation reads a location. No error repeats what might be a secret.
func ParseLocation(s string) (l Location, err error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "s3" || u.Host == "" || u.Fragment != "":
		return l, errForm // without err, which repeats what it was given
	case u.User != nil:
		return l, errKeys
	}
	l.Bucket, l.Prefix = u.Host, strings.Trim(u.Path, "/")
	if !isBucket(l.Bucket) {
		return l, fmt.Errorf("%q is no name of a bucket: it has 3 to 63 small letters, figures, dots and hyphens; where the store is stands in endpoint=", l.Bucket)
	}
	if l.Prefix != "" && objects.CheckName(l.Prefix) != nil {
		return l, fmt.Errorf("%q is no prefix in a bucket: it has small letters, figures, dots, hyphens and underscores, in parts between slashes", l.Prefix)
	}
	return l, l.readQuery(u)
}

func isBucket(name string) bool {
	ends := "abcdefghijklmnopqrstuvwxyz0123456789"
	return len(name) >= 3 && len(name) <= 63 && strings.Trim(name, ends+".-") == "" && strings.ContainsAny(name[:1], ends) &&
		strings.ContainsAny(name[len(name)-1:], ends) && !strings.Contains(name, "..")
}

func (l *Location) readQuery(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errForm
	}
	for key, values := range query {
		switch {
		case !slices.Contains([]string{"endpoint", "region"}, key):
			return fmt.Errorf("a bucket has no %q: there are endpoint= and region=", key)
		case len(values) > 1 || values[0] == "":
			return fmt.Errorf("a bucket has one %s", key)
		}
	}
	l.Region = query.Get("region")
	if strings.Trim(l.Region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("%q is no region", l.Region)
	}
	return l.readEndpoint(query.Get("endpoint"))
}

func (l *Location) readEndpoint(endpoint string) error {
	if endpoint == "" {
		if l.Region == "" {
			return errors.New("it is not said where the bucket is: by region= for Amazon S3, such as region=eu-central-1, or by endpoint= for another store, such as endpoint=https://s3.example.org")
		}
		l.Endpoint = "s3." + l.Region + ".amazonaws.com"
		return nil
	}
	e, err := url.Parse(endpoint)
	switch {
	case err == nil && e.User != nil:
		return errKeys
	case err != nil || e.Scheme != "https" && e.Scheme != "http" || e.Hostname() == "" || strings.Trim(e.Path, "/") != "" || e.RawQuery != "" || e.Fragment != "":
		return errors.New("the endpoint of a bucket begins with https:// or http:// and has a host after it, and a port where it needs one")
	}
	l.Endpoint, l.Plain = e.Host, e.Scheme == "http"
	if l.Region == "" {
		l.Region = usualRegion
	}
	return nil
}

// String returns the location in its form.
func (l Location) String() string {
	scheme := "https://"
	if l.Plain {
		scheme = "http://"
	}
	u := url.URL{Scheme: "s3", Host: l.Bucket, Path: l.Prefix}
	return u.String() + "?endpoint=" + scheme + l.Endpoint + "&region=" + l.Region
}
