"""Volumes of a pod, and the ConfigMaps and Secrets that fill them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from msgspec import Struct

from probetui.k8s.environment import FieldRef, ResourceFieldRef
from probetui.values import Kind, Value

FILE_MODE = 0o644
"""The default mode of files in volumes."""

STAND_IN_TOKEN = b"probetui-stand-in.not-a-service-account-token"
"""What is in the file of a service account token, which only an API server issues."""

STAND_IN_CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBrjCCAVOgAwIBAgIUCL+b05oCisC0j5dY3fWvXf29ip8wCgYIKoZIzj0EAwIw
KzEpMCcGA1UEAwwgcHJvYmV0dWkgc3RhbmQtaW4sIHNpZ25zIG5vdGhpbmcwIBcN
MjYxMTIzMTU1OTI3WhgPMjEyNjEwMzAxNTU5MjdaMCsxKTAnBgNVBAMMIHByb2Jl
dHVpIHN0YW5kLWluLCBzaWducyBub3RoaW5nMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEpOZ0mE/sLFOlA1iV+WRPC8H5JiA6uyrPlvVT+ETR0eriShKljA5uvdNo
O0G8wjCl6d5zVkAFIGN5+rX++3ANO6NTMFEwHQYDVR0OBBYEFM84K1Uju24lWL3C
mLy3BQRDTiirMB8GA1UdIwQYMBaAFM84K1Uju24lWL3CmLy3BQRDTiirMA8GA1Ud
EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAOK5DssZdJTWYw812Qu+R7HG
EhcVozqPdg9iObphjvRNAiEAkWprjkRLTWQ6QQ7vtNrFoZ0p9cbMiIJz5B8BK9ry
Sz0=
-----END CERTIFICATE-----
"""
"""A certificate that programs can parse and that signs nothing: nobody has its key."""

STAND_IN_KEY = """\
-----BEGIN %s-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgR+WTg7WbnBPe1nL4
4GnWeh67uOoG+z7FGnhsRnMzG4+hRANCAASl5LzHuRU6hpFE3rMseYZ5AcunHkj7
cWcsf5I+auNOgSmi8GrUuQNjveP3q7ypiZ6EymY3J8mYZiGUjURTeOmT
-----END %s-----
""".replace("%s", "PRIVATE KEY")
"""The key of `STAND_IN_POD_CERTIFICATE`, which is no secret: it is in this file."""

STAND_IN_POD_CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBtDCCAVugAwIBAgIUK4QUshyKe1Scw33g2BzMoLKLoVMwCgYIKoZIzj0EAwIw
LzEtMCsGA1UEAwwkcHJvYmV0dWkgc3RhbmQtaW4sIGNlcnRpZmllcyBub3RoaW5n
MCAXDTI2MTEyNDAyNDI1M1oYDzIxMjYxMDMxMDI0MjUzWjAvMS0wKwYDVQQDDCRw
cm9iZXR1aSBzdGFuZC1pbiwgY2VydGlmaWVzIG5vdGhpbmcwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAASl5LzHuRU6hpFE3rMseYZ5AcunHkj7cWcsf5I+auNOgSmi
8GrUuQNjveP3q7ypiZ6EymY3J8mYZiGUjURTeOmTo1MwUTAdBgNVHQ4EFgQUlx8C
UgfuelBqoWTHcNVUY7E3WbQwHwYDVR0jBBgwFoAUlx8CUgfuelBqoWTHcNVUY7E3
WbQwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiAfY6ZeQ8hfI2aM
YQHCcJJxXX21txV0cHEtkpOL6zW3fwIgD+U5t7ratxt+st4JAhd7osgxl13q5is+
yBKBQjrNsv8=
-----END CERTIFICATE-----
"""
"""A certificate that certifies nothing."""

MEMORY = "Memory"
"""The medium of an emptyDir that is kept in memory."""


class EmptyDir(Kind, frozen=True):
    """An empty folder for the pod's life; `size_limit` is in bytes."""

    medium: str = ""
    size_limit: Decimal | None = None


class HostPath(Kind, frozen=True):
    """A file or folder of the node; an empty `type` is not checked."""

    path: str
    type: str = ""


class KeyToPath(Value, frozen=True):
    """The path of an entry in the volume; None is the volume's default mode."""

    key: str
    path: str
    mode: int | None = None


class ConfigMapFiles(Kind, frozen=True):
    """Entries of a ConfigMap as files; no `items` means all of them."""

    name: str
    items: tuple[KeyToPath, ...] = ()
    optional: bool = False


class SecretFiles(Kind, frozen=True):
    """Entries of a Secret as files; no `items` means all of them."""

    name: str
    items: tuple[KeyToPath, ...] = ()
    optional: bool = False


class DownwardAPIFile(Value, frozen=True):
    """A file with a field of the pod; it is empty where `ref` is None."""

    path: str
    ref: FieldRef | ResourceFieldRef | None
    mode: int | None = None


class DownwardAPIFiles(Kind, frozen=True):
    """Files with fields of the pod."""

    items: tuple[DownwardAPIFile, ...] = ()


class ServiceAccountTokenFile(Kind, frozen=True):
    """A file with a token of the pod's service account."""

    path: str
    audience: str = ""
    expiration_seconds: int | None = None


class TrustBundleFile(Kind, frozen=True):
    """A file with the certificates that a cluster trusts, by name or by signer."""

    path: str
    name: str = ""
    signer_name: str = ""
    optional: bool = False


class PodCertificateFiles(Kind, frozen=True):
    """Files with a key of the pod and its certificates: together, or one each."""

    signer_name: str
    key_type: str
    credential_bundle_path: str = ""
    key_path: str = ""
    certificate_chain_path: str = ""


ClusterFiles = ServiceAccountTokenFile | TrustBundleFile | PodCertificateFiles
"""Files that only a cluster makes."""

FileSource = ConfigMapFiles | SecretFiles | DownwardAPIFiles | ClusterFiles


class Projected(Kind, frozen=True):
    """Files from several sources; of two with the same path the last one is used.

    A volume of the kind configMap, secret or downwardAPI is this with one source.
    """

    sources: tuple[FileSource, ...] = ()
    default_mode: int = FILE_MODE


class OtherVolume(Kind, frozen=True):
    """A volume of an unsupported kind, named as in the spec.

    The pod gets an empty directory instead.
    """

    kind: str


VolumeSource = EmptyDir | HostPath | Projected | OtherVolume


class Volume(Value, frozen=True):
    """A volume of a pod."""

    name: str
    source: VolumeSource = EmptyDir()


class VolumeFile(Struct, frozen=True):
    """A file to write into a volume; `path` is relative and without `..`."""

    path: str
    content: bytes
    mode: int = FILE_MODE


NO_TEXTS: Mapping[str, str] = MappingProxyType({})
NO_BYTES: Mapping[str, bytes] = MappingProxyType({})


class ConfigMap(Kind, frozen=True):
    """`v1.ConfigMap`; no key is in both mappings.

    `is_refused` marks one that the API server has and does not hand over.
    """

    name: str
    namespace: str = "default"
    data: Mapping[str, str] = NO_TEXTS
    binary_data: Mapping[str, bytes] = NO_BYTES
    is_refused: bool = False

    def __hash__(self) -> int:
        return hash((self.name, self.namespace))


class Secret(Kind, frozen=True):
    """`v1.Secret`, its data decoded from Base64.

    `type` is empty for Opaque. `is_refused` marks one that the API server has and does
    not hand over.
    """

    name: str
    namespace: str = "default"
    data: Mapping[str, bytes] = NO_BYTES
    type: str = ""
    is_refused: bool = False

    def __hash__(self) -> int:
        return hash((self.name, self.namespace))


ConfigObject = ConfigMap | Secret
