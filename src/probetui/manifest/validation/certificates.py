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
    not_supported,
    required,
    too_long,
)
from probetui.manifest.validation.metadata import validate_annotations_size
from probetui.manifest.validation.paths import not_reserved
from probetui.manifest.validation.scheduling import (
    selector_fields,
    validate_selector,
)

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


def validate_trust_bundle(
    bundle: core_v1.ClusterTrustBundleProjection, path: str
) -> Iterator[FieldError]:
    """Check a trust bundle, given by its name or its signer."""
    if bundle.name is not None and bundle.signerName is not None:
        fields = {
            "Name": bundle.name,
            "SignerName": bundle.signerName,
            "LabelSelector": selector_fields(bundle.labelSelector),
            "Optional": bundle.optional,
            "Path": bundle.path,
        }
        whole = GoSyntax("core.ClusterTrustBundleProjection{...}", go_json(fields))
        yield invalid(path, whole, "only one of name and signerName may be used")
    elif bundle.name is not None:
        if not bundle.name:
            yield required(f"{path}.name", "must be a valid object name")
        for error in _check_bundle_name(bundle.name):
            detail = f"not a valid clustertrustbundlename: {error}"
            yield invalid(f"{path}.name", bundle.name, detail)
        if bundle.labelSelector is not None:
            selector = selector_fields(bundle.labelSelector)
            value = GoSyntax("v1.LabelSelector{...}", go_json(selector))
            detail = "labelSelector must be unset if name is specified"
            yield invalid(f"{path}.labelSelector", value, detail)
    elif bundle.signerName is None:
        yield required(path, "either name or signerName must be specified")
    else:
        if not bundle.signerName:
            yield required(f"{path}.signerName", "must be a valid signer name")
        yield from _signer_name(bundle.signerName, f"{path}.signerName")
        yield from validate_selector(bundle.labelSelector, f"{path}.labelSelector")
    if not bundle.path:
        yield required(f"{path}.path")
    yield from not_reserved(bundle.path, f"{path}.path")


def validate_pod_certificate(
    certificate: core_v1.PodCertificateProjection, path: str
) -> Iterator[FieldError]:
    """Check a certificate that a signer of the cluster issues for the pod."""
    signer = certificate.signerName
    yield from _signer_name(signer, f"{path}.signerName")
    if certificate.keyType not in _KEY_TYPES:
        yield not_supported(f"{path}.keyType", certificate.keyType, _KEY_TYPES)
    seconds = certificate.maxExpirationSeconds
    if seconds is not None:
        at = f"{path}.maxExpirationSeconds"
        domain = signer.partition("/")[0]
        is_kubernetes = domain == _KUBERNETES or domain.endswith(f".{_KUBERNETES}")
        most = _MOST_SECONDS_OF_KUBERNETES if is_kubernetes else _MOST_SECONDS
        start = "if provided, maxExpirationSeconds must be"
        if seconds < _LEAST_SECONDS:
            yield invalid(at, seconds, f"{start} >= {_LEAST_SECONDS}")
        if seconds > most:
            yield invalid(at, seconds, f"{start} <= {most}")
    yield from _user_annotations(
        certificate.userAnnotations or {}, f"{path}.userAnnotations"
    )
    for name in _PATHS:
        value = getattr(certificate, name)
        if value:
            yield from not_reserved(value, f"{path}.{name}")
    if not any(certificate_paths(certificate)):
        detail = (
            "specify at least one of credentialBundlePath, keyPath, and"
            " certificateChainPath"
        )
        yield required(path, detail)


def certificate_paths(certificate: core_v1.PodCertificateProjection) -> Iterator[str]:
    """Yield the paths of the files with the key and the certificate."""
    for name in _PATHS:
        if value := getattr(certificate, name):
            yield value


def _user_annotations(
    annotations: Mapping[str, str], path: str
) -> Iterator[FieldError]:
    """Check the annotations for a signer; their keys have a domain prefix.

    Source: validation.go, v1.35.0, ValidateUserAnnotations; apimachinery,
    pkg/util/validation, IsDomainPrefixedKey.
    """
    for key in sorted(annotations):
        lower = key.lower()
        if not lower:
            yield required(path)
            continue
        wrong = list(names.check_qualified_name(lower))
        yield from names.invalid_names(path, lower, iter(wrong))
        if not wrong and "/" not in lower:
            yield invalid(path, lower, _NO_DOMAIN)
    yield from validate_annotations_size(annotations, path)


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


def _signer_name(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield required(path)
        return
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        yield invalid(path, name, _NO_SIGNER)
        return
    if names.byte_length(domain) > names.MAX_SUBDOMAIN:
        yield too_long(path, names.MAX_SUBDOMAIN)
    labels = domain.split(".")
    yield from _labels(labels, domain, path, names.check_label)
    if len(labels) == 1:
        detail = "should be a domain with at least two segments separated by dots"
        yield invalid(path, domain, detail)
    yield from _labels(rest.split("."), rest, path, names.check_subdomain)
    if names.byte_length(name) > _MAX_SIGNER:
        yield too_long(path, _MAX_SIGNER)


def _labels(
    labels: Iterable[str],
    whole: str,
    path: str,
    check: Callable[[str], Iterator[str]],
) -> Iterator[FieldError]:
    """Report the first label that is wrong."""
    for label in labels:
        errors = [f"validating label {quote(label)}: {error}" for error in check(label)]
        if errors:
            yield from names.invalid_names(path, whole, iter(errors))
            return
