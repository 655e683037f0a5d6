package s3_test

import (
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/base/objects/s3"
)

func TestLocations(t *testing.T) {
	for text, want := range map[string]s3.Location{
		"s3://name?region=eu-central-1":                                     {Bucket: "name", Endpoint: "s3.eu-central-1.amazonaws.com", Region: "eu-central-1"},
		"s3://my-name.9/?region=eu-1":                                       {Bucket: "my-name.9", Endpoint: "s3.eu-1.amazonaws.com", Region: "eu-1"},
		"s3://name/prefix?endpoint=https://s3.example.org":                  {Bucket: "name", Prefix: "prefix", Endpoint: "s3.example.org", Region: "us-east-1"},
		"s3://name/a/b_c.d/?endpoint=https://s3.example.org/&region=auto":   {Bucket: "name", Prefix: "a/b_c.d", Endpoint: "s3.example.org", Region: "auto"},
		"s3://name?endpoint=http%3A%2F%2F127.0.0.1%3A7070&region=us-east-1": {Bucket: "name", Endpoint: "127.0.0.1:7070", Region: "us-east-1", Plain: true},
		"s3://name?endpoint=http://[::1]:7070":                              {Bucket: "name", Endpoint: "[::1]:7070", Region: "us-east-1", Plain: true},
	} {
		got, err := s3.ParseLocation(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := s3.ParseLocation(got.String()); err != nil || again != got {
			t.Errorf("%s was written as %s: %+v, %v", text, got, again, err)
		}
	}
}

// TestLocationsThatAreNone: each error says what is wrong, and none repeats what might be a secret.
func TestLocationsThatAreNone(t *testing.T) {
	const form, keys, where, endpoint = "a bucket is written as s3://", "do not belong into its URL", "not said where the bucket is", "the endpoint of a bucket begins"
	for text, want := range map[string]string{
		"":                                    form,
		"name":                                form,
		"s3:name":                             form,
		"s3://":                               form,
		"s3:///prefix":                        form,
		"S4://name":                           form,
		"https://s3.example.org/name":         form,
		"s3://name:hunter2x/p?region=":        form,
		"s3://na%zz:hunter2@name":             form,
		"s3://name/p#hunter2":                 form,
		"s3://name/p?region=eu;%zz":           form,
		"s3://key:hunter2@name/p?region=eu-1": keys,
		"s3://name?endpoint=https://key:hunter2@host": keys,
		"s3://name":                                        where,
		"s3://name/prefix":                                 where,
		"s3://name?secret=hunter2&region=eu-1":             `a bucket has no "secret"`,
		"s3://name?Region=eu-1":                            `a bucket has no "Region"`,
		"s3://name?region=eu-1&region=eu-2":                "a bucket has one region",
		"s3://name?region=":                                "a bucket has one region",
		"s3://name?endpoint=&region=eu-1":                  "a bucket has one endpoint",
		"s3://name?region=eu/1":                            "is no region",
		"s3://name?region=EU-1":                            "is no region",
		"s3://na?region=eu-1":                              "is no name of a bucket",
		"s3://Name?region=eu-1":                            "is no name of a bucket",
		"s3://-name?region=eu-1":                           "is no name of a bucket",
		"s3://name.?region=eu-1":                           "is no name of a bucket",
		"s3://na..me?region=eu-1":                          "is no name of a bucket",
		"s3://name:9000?region=eu-1":                       "is no name of a bucket",
		"s3://" + strings.Repeat("n", 64) + "?region=eu-1": "is no name of a bucket",
		"s3://name/Prefix?region=eu-1":                     "is no prefix",
		"s3://name/a//b?region=eu-1":                       "is no prefix",
		"s3://name/../b?region=eu-1":                       "is no prefix",
		"s3://name/a%20b?region=eu-1":                      "is no prefix",
		"s3://name?endpoint=s3.example.org":                endpoint,
		"s3://name?endpoint=ftp://s3.example.org":          endpoint,
		"s3://name?endpoint=https://":                      endpoint,
		"s3://name?endpoint=https://:9000":                 endpoint,
		"s3://name?endpoint=https://host/hunter2":          endpoint,
		"s3://name?endpoint=https://host?a%3Dhunter2":      endpoint,
	} {
		l, err := s3.ParseLocation(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", text, l, err, want)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error repeats a secret: %v", text, err)
		}
	}
}
