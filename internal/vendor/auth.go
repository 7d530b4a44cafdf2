package vendor

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
)

func (p *Profile) readAuth(o *object) {
	v, ok := o.get("auth")
	if !ok {
		return
	}
	for _, item := range v.items() {
		a := p.readCredential(item.object())
		if name := a.header(); name != "" && p.authHeaders()[name] {
			item.fault("sets the header %s a second time", name)
		}
		p.Auth = append(p.Auth, a)
	}
}

// authHeaders are the headers that credentials set.
func (p *Profile) authHeaders() map[string]bool {
	taken := map[string]bool{}
	for _, a := range p.Auth {
		taken[a.header()] = true
	}
	return taken
}

func (p *Profile) readCredential(o *object) (a Auth) {
	oneOf(o, "type", &a.Type, AuthBearer, AuthBasic, AuthHeader)
	o.require("type", "bearer, basic or header")
	switch a.Type {
	case AuthBearer:
		p.secretTo(o, "token", &a.Token)
	case AuthBasic:
		p.readBasic(o, &a)
	case AuthHeader:
		readHeader(o, &a)
		p.secretTo(o, "value", &a.Value)
	default:
		return a // what else it may have is unknown
	}
	o.close()
	return a
}

// readBasic takes a user name in plain text or as a reference. Some vendors
// take a key as the user name beside a blank password; that is the only blank.
func (p *Profile) readBasic(o *object, a *Auth) {
	v, given := o.get("username")
	if given {
		a.Username, _ = v.text()
	}
	switch {
	case !o.require("username", "the user name, or a reference to it"):
	case strings.HasPrefix(a.Username, "${"):
		p.secretTo(o, "username", &a.Username)
	case a.Username == "" || strings.ContainsAny(a.Username, ":\r\n"):
		v.fault("must be a text without a colon")
	}
	_, _, secretName := Reference(a.Username)
	if password, ok := o.get("password"); ok && secretName {
		if blank, _ := password.text(); blank == "" {
			return
		}
	}
	p.secretTo(o, "password", &a.Password)
}

// transportHeaders are set by the request itself; a credential there would
// break it.
var transportHeaders = []string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func readHeader(o *object, a *Auth) {
	o.textTo("name", &a.Name)
	if !o.require("name", "the header's name") || a.Name == "" {
		return
	}
	if !headerName.MatchString(a.Name) {
		o.members["name"].fault("must be the name of a header")
		return
	}
	for _, name := range transportHeaders {
		if strings.EqualFold(name, a.Name) {
			o.members["name"].fault("must not be %s, which the request itself sets", name)
		}
	}
}

// secretTo reads a reference and makes sure that it can be resolved now.
func (p *Profile) secretTo(o *object, name string, dst *string) {
	v, given := o.get(name)
	if !o.require(name, `a reference such as "${file:/run/secrets/acme}" or "${env:ACME_TOKEN}"`) || !given {
		return
	}
	text, ok := v.text()
	if !ok {
		return
	}
	if _, _, ok := Reference(text); !ok {
		v.fault(`must be a reference such as "${file:/run/secrets/acme}" or "${env:ACME_TOKEN}": secrets do not stand in a profile`)
		return
	}
	*dst = text
	if _, err := reveal(p.secrets, text); err != nil {
		v.fault("%v", err)
	}
}

// header is the header that the credential sets; "" = not known.
func (a Auth) header() string {
	switch a.Type {
	case AuthBearer, AuthBasic:
		return "Authorization"
	case AuthHeader:
		return http.CanonicalHeaderKey(a.Name)
	default:
		return ""
	}
}

// errCredential is what is said of a secret that cannot be read when the
// gateway runs already.
var errCredential = errors.New("vendor: a credential cannot be read")

// credentials resolves the profile's references to the headers that they set.
func (p *Profile) credentials() (http.Header, error) {
	headers := http.Header{}
	for _, a := range p.Auth {
		value, err := p.credential(a)
		if err != nil {
			return nil, errors.Join(errCredential, err)
		}
		headers.Set(a.header(), value)
	}
	return headers, nil
}

func (p *Profile) credential(a Auth) (string, error) {
	switch a.Type {
	case AuthBearer:
		token, err := reveal(p.secrets, a.Token)
		return "Bearer " + token, err
	case AuthBasic:
		return p.basic(a)
	default:
		return reveal(p.secrets, a.Value)
	}
}

func (p *Profile) basic(a Auth) (string, error) {
	user, password := a.Username, ""
	var err error
	if _, _, secret := Reference(user); secret {
		if user, err = reveal(p.secrets, user); err != nil {
			return "", err
		}
	}
	if a.Password != "" {
		if password, err = reveal(p.secrets, a.Password); err != nil {
			return "", err
		}
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)), nil
}
