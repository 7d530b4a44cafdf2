package vendor

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
)

// sentinels are the errors of an Exchange, the more specific first.
var sentinels = []error{
	ErrFence, ErrStopped, ErrResolve, ErrRefused, ErrTLS, ErrConnect,
	ErrTimeout, ErrGivenUp, ErrBroken, ErrMalformed, ErrTooLong,
}

// explain turns what the network said into one of the errors of an Exchange.
// Nothing of the original is kept: it may quote the answer.
func explain(ctx context.Context, sent SentPhase, t *ticket, err error) error {
	switch {
	case err == nil:
		return nil
	case sent == NothingSent:
		return explainUnsent(ctx, t, err)
	}
	var timeout net.Error
	switch {
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return ErrTimeout
	case ctx.Err() != nil:
		return ErrGivenUp
	case errors.As(err, &timeout) && timeout.Timeout():
		return ErrTimeout
	case strings.Contains(err.Error(), "malformed"): // net/http has no error value for it
		return ErrMalformed
	}
	return known(err)
}

// explainUnsent: no byte was written. A connection that was not there before
// the time to write had passed is a connection that could not be made.
func explainUnsent(ctx context.Context, t *ticket, err error) error {
	var (
		dns       *net.DNSError
		handshake handshakeError
	)
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, ErrStopped):
		return ErrStopped
	case errors.Is(err, ErrFence) || t.tooLate() && t.connected():
		return ErrFence
	case t.tooLate():
		return ErrConnect
	case cause != nil && !errors.Is(cause, ErrTimeout):
		return ErrStopped
	case errors.As(err, &dns):
		return ErrResolve
	case errors.As(err, &handshake):
		return ErrTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return ErrRefused
	}
	return ErrConnect
}

// known returns the sentinel that err is, or the one for everything else.
func known(err error) error {
	for _, s := range sentinels {
		if errors.Is(err, s) {
			return s
		}
	}
	return ErrBroken
}
