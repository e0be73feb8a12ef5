"""The API server's rules for trust bundles and certificates in projected volumes.

Source: pkg/apis/core/validation/validation.go, v1.32.10, v1.36.2,
validateProjectionSources; names.go, ValidateSignerName,
ValidateClusterTrustBundleName.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from lightkube.models import core_v1

from probetui.manifest.problem import quote
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    go_json,
    invalid,
    required,
    too_long,
)
from probetui.manifest.validation.metadata import small_annotations
from probetui.manifest.validation.rules import (
    Always,
    IfFilled,
    IfSet,
    Required,
    Rules,
    check,
    choice,
    valid,
)
from probetui.manifest.validation.scheduling import SELECTOR, selector_fields

_KEY_TYPES = (
    "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519",
)  # fmt: skip
_PATHS = ("credentialBundlePath", "keyPath", "certificateChainPath")
_LEAST_SECONDS = 3600
_MOST_SECONDS = 91 * 24 * 3600
_MOST_SECONDS_OF_KUBERNETES = 24 * 3600
_KUBERNETES = "kubernetes.io"
_MAX_SIGNER = 2 * names.MAX_SUBDOMAIN + names.MAX_LABEL + 2
_NO_SIGNER = (
    "must be a fully qualified domain and path of the form 'example.com/signer-name'"
)
_NO_DOMAIN = 'must be a domain-prefixed key (such as "acme.io/foo")'


def certificate_paths(certificate: core_v1.PodCertificateProjection) -> Iterator[str]:
    """Yield the paths of the files with the key and the certificate."""
    for name in _PATHS:
        if value := getattr(certificate, name):
            yield value


def _check_bundle_name(name: str) -> Iterator[str]:
    """Check the name of a bundle, whose prefix is its signer.

    Quirk, kept: the signer is parsed from the name itself, so that it always matches,
    unless the name begins with its only colon or the signer has slashes.
    """
    signer, colon, own = name.rpartition(":")
    if not colon:
        yield from names.check_subdomain(name)
    elif not signer:
        yield 'ClusterTrustBundle without signer name must not have ":" in its name'
    elif "/" in signer:
        prefix = signer.replace("/", ":")
        yield (
            f"ClusterTrustBundle for signerName {signer.replace(':', '/')} must be"
            f" named with prefix {prefix}:"
        )
    else:
        yield from names.check_subdomain(own)


def _bundle_source(
    bundle: core_v1.ClusterTrustBundleProjection,
) -> Iterator[FieldError]:
    """Check the source of a trust bundle, its name or its signer."""
    if bundle.name is not None and bundle.signerName is not None:
        fields = {
            "Name": bundle.name,
            "SignerName": bundle.signerName,
            "LabelSelector": selector_fields(bundle.labelSelector),
            "Optional": bundle.optional,
            "Path": bundle.path,
        }
        whole = GoSyntax("core.ClusterTrustBundleProjection{...}", go_json(fields))
        yield invalid("", whole, "only one of name and signerName may be used")
    elif bundle.name is not None:
        if not bundle.name:
            yield required("name", "must be a valid object name")
        for error in _check_bundle_name(bundle.name):
            detail = f"not a valid clustertrustbundlename: {error}"
            yield invalid("name", bundle.name, detail)
        if bundle.labelSelector is not None:
            selector = selector_fields(bundle.labelSelector)
            value = GoSyntax("v1.LabelSelector{...}", go_json(selector))
            detail = "labelSelector must be unset if name is specified"
            yield invalid("labelSelector", value, detail)
    elif bundle.signerName is None:
        yield required("", "either name or signerName must be specified")
    else:
        yield from check(_SIGNER_OF_BUNDLE, bundle)


def _signer_name(name: str) -> Iterator[FieldError]:
    if not name:
        yield required("")
        return
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        yield invalid("", name, _NO_SIGNER)
        return
    if names.byte_length(domain) > names.MAX_SUBDOMAIN:
        yield too_long("", names.MAX_SUBDOMAIN)
    labels = domain.split(".")
    yield from _labels(labels, domain, names.check_label)
    if len(labels) == 1:
        detail = "should be a domain with at least two segments separated by dots"
        yield invalid("", domain, detail)
    yield from _labels(rest.split("."), rest, names.check_subdomain)
    if names.byte_length(name) > _MAX_SIGNER:
        yield too_long("", _MAX_SIGNER)


def _labels(
    labels: Iterable[str], whole: str, check_label: Callable[[str], Iterator[str]]
) -> Iterator[FieldError]:
    """Report the first label that is wrong."""
    for label in labels:
        errors = [
            f"validating label {quote(label)}: {error}" for error in check_label(label)
        ]
        if errors:
            yield from names.invalid_names("", whole, iter(errors))
            return


_SIGNER_OF_BUNDLE = Rules(
    core_v1.ClusterTrustBundleProjection,
    Required("signerName", detail="must be a valid signer name"),
    Always("signerName", _signer_name),
    IfSet("labelSelector", SELECTOR),
)
TRUST_BUNDLE = Rules(
    core_v1.ClusterTrustBundleProjection,
    _bundle_source,
    Required("path", valid(names.check_not_reserved)),
)


def _lifetime(certificate: core_v1.PodCertificateProjection) -> Iterator[FieldError]:
    at, seconds = "maxExpirationSeconds", certificate.maxExpirationSeconds
    if seconds is None:
        return
    domain = certificate.signerName.partition("/")[0]
    is_kubernetes = domain == _KUBERNETES or domain.endswith(f".{_KUBERNETES}")
    most = _MOST_SECONDS_OF_KUBERNETES if is_kubernetes else _MOST_SECONDS
    start = "if provided, maxExpirationSeconds must be"
    if seconds < _LEAST_SECONDS:
        yield invalid(at, seconds, f"{start} >= {_LEAST_SECONDS}")
    if seconds > most:
        yield invalid(at, seconds, f"{start} <= {most}")


def _user_annotations(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    """Check the annotations for a signer; their keys have a domain prefix.

    Source: validation.go, v1.35.0, ValidateUserAnnotations; apimachinery,
    pkg/util/validation, IsDomainPrefixedKey.
    """
    for key in sorted(annotations):
        lower = key.lower()
        if not lower:
            yield required("")
            continue
        wrong = list(names.check_qualified_name(lower))
        yield from names.invalid_names("", lower, iter(wrong))
        if not wrong and "/" not in lower:
            yield invalid("", lower, _NO_DOMAIN)
    yield from small_annotations(annotations)


def _any_path(certificate: core_v1.PodCertificateProjection) -> Iterator[FieldError]:
    if not any(certificate_paths(certificate)):
        detail = (
            "specify at least one of credentialBundlePath, keyPath, and"
            " certificateChainPath"
        )
        yield required("", detail)


POD_CERTIFICATE = Rules(
    core_v1.PodCertificateProjection,
    Always("signerName", _signer_name),
    Always("keyType", choice(*_KEY_TYPES)),
    _lifetime,
    IfFilled("userAnnotations", _user_annotations),
    *(IfFilled(name, valid(names.check_not_reserved)) for name in _PATHS),
    _any_path,
)
"""The rules of a certificate that a signer of the cluster issues for the pod."""
