"""The SBOM, in CycloneDX: each package of the lock with its hashes, and what its own metadata says of it."""

import json
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

import jsonschema_rs
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.contrib.this.builders import this_component
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License, LicenseAcknowledgement
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion, _res
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.commit import Commit
from release.lock import Locked
from release.refusal import ReleaseRefused

_LICENCE_CHARACTERS_MAX: Final = 80  # Some put the whole text where the name belongs.


def sbom(locked: Sequence[Locked], direct: Iterable[str], version: str, commit: Commit) -> str:
    """JSON that the schema allows. `direct` are the lines of requirements.in."""
    components = {package.name: _component(package) for package in locked}
    product = Component(
        bom_ref="qirsh",
        type=ComponentType.APPLICATION,
        name="qirsh",
        version=version,
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
        properties=[Property(name="qirsh:commit", value=commit.name)],
    )
    bom = Bom(components=components.values(), serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"qirsh:{commit.name}"))
    bom.metadata.component = product
    bom.metadata.timestamp = datetime.fromtimestamp(commit.time_s, UTC)
    bom.metadata.tools.components.add(this_component())
    bom.register_dependency(product, _named(direct, components))
    for package in locked:
        bom.register_dependency(components[package.name], _named(_requirements(package), components))
    text = f"{JsonV1Dot6(bom).output_as_string(indent=2)}\n"
    wrong = schema_errors(text)
    if wrong:
        raise ReleaseRefused(f"the SBOM is not as its schema wants it: {wrong[0]}")
    return text


def schema_errors(text: str) -> list[str]:
    """What CycloneDX 1.6 does not allow in this document, by the schema that the library brings."""
    main = json.loads(Path(str(_res.BOM_JSON[SchemaVersion.V1_6])).read_text())
    others = [Path(file) for file in (_res.SPDX_JSON, _res.JSF, _res.CRYPTOGRAPHY_DEFS)]
    registry = jsonschema_rs.Registry(
        [(urljoin(main["$id"], each.name), json.loads(each.read_text())) for each in others]
    )
    validator = jsonschema_rs.Draft7Validator(main, registry=registry, validate_formats=True)
    return [
        f"{'/'.join(map(str, each.instance_path))}: {each.message}" for each in validator.iter_errors(json.loads(text))
    ]


def _component(package: Locked) -> Component:
    """One for all files of a version, since the lock allows each of them: the hashes are theirs."""
    purl = PackageURL("pypi", name=package.name, version=package.version)
    return Component(
        bom_ref=purl.to_string(),
        type=ComponentType.LIBRARY,
        name=package.name,
        version=package.version,
        purl=purl,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in package.sha256],
        licenses=_licences(package),
    )


def _licences(package: Locked) -> list[License]:
    """As the package itself declares it; none where it is not installed here or says nothing."""
    try:
        told = metadata.metadata(package.name)
    except metadata.PackageNotFoundError:
        return []
    classifiers = [each.rpartition(" :: ")[2] for each in told.get_all("Classifier", []) if each.startswith("License")]
    for words in (told.get_all("License-Expression", []), told.get_all("License", []), classifiers):
        names = [word for word in words if word and "\n" not in word and len(word) <= _LICENCE_CHARACTERS_MAX]
        if names:
            make = LicenseFactory().make_from_string
            return [make(name, license_acknowledgement=LicenseAcknowledgement.DECLARED) for name in names]
    return []


def _requirements(package: Locked) -> list[str]:
    try:
        return metadata.requires(package.name) or []
    except metadata.PackageNotFoundError:
        return []


def _named(requirements: Iterable[str], components: dict[str, Component]) -> list[Component]:
    """Those of the lock that are required, leaving out what only an extra or another machine wants."""
    wanted = [Requirement(each) for each in requirements]
    names = [
        str(canonicalize_name(each.name)) for each in wanted if not each.marker or each.marker.evaluate({"extra": ""})
    ]
    return [components[name] for name in names if name in components]
